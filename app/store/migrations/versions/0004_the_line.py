"""The line of those that wait is made with what ended meanwhile; the last message of a queue is no longer asked for."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_gradings_finished_at", "gradings", ["finished_at"])
    op.drop_index("ix_gradings_queue_sent_at", "gradings")


def downgrade() -> None:
    op.create_index("ix_gradings_queue_sent_at", "gradings", ["queue", "sent_at"])
    op.drop_index("ix_gradings_finished_at", "gradings")

"""Indices for what is looked up by order: the newest submissions to a drill, and the last message of a queue."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_submissions_drill_id_id", "submissions", ["drill_id", "id"])
    op.drop_index("ix_submissions_drill_id", "submissions")
    op.create_index("ix_gradings_queue_sent_at", "gradings", ["queue", "sent_at"])


def downgrade() -> None:
    op.drop_index("ix_gradings_queue_sent_at", "gradings")
    op.create_index("ix_submissions_drill_id", "submissions", ["drill_id"])
    op.drop_index("ix_submissions_drill_id_id", "submissions")

"""Validations of drill versions, and when a version was retired."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("drill_versions", sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "validations",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("drill_version_id", sa.String(length=36), nullable=False),
        sa.Column("requested_by", sa.String(length=36), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("queue", sa.String(length=32), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.String(length=320), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("faults", sa.JSON(), nullable=False),
        sa.Column("report", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["drill_version_id"], ["drill_versions.id"], name="fk_validations_drill_version_id_drill_versions"
        ),
        sa.ForeignKeyConstraint(["requested_by"], ["users.id"], name="fk_validations_requested_by_users"),
        sa.PrimaryKeyConstraint("id", name="pk_validations"),
    )
    op.create_index("ix_validations_drill_version_id", "validations", ["drill_version_id"])
    op.create_index("ix_validations_state_queued_at", "validations", ["state", "queued_at"])
    op.create_table(
        "validation_events",
        sa.Column("drill_version_id", sa.String(length=36), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("validation_id", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["drill_version_id"], ["drill_versions.id"], name="fk_validation_events_drill_version_id_drill_versions"
        ),
        sa.ForeignKeyConstraint(
            ["validation_id"], ["validations.id"], name="fk_validation_events_validation_id_validations"
        ),
        sa.PrimaryKeyConstraint("drill_version_id", "number", name="pk_validation_events"),
    )


def downgrade() -> None:
    op.drop_table("validation_events")
    op.drop_table("validations")
    op.drop_column("drill_versions", "retired_at")

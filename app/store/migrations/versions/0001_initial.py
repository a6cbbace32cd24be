"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("name", name="uq_users_name"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=320), nullable=False),
        sa.Column("queue", sa.String(length=32), nullable=False),
        sa.Column("lane", sa.String(length=16), nullable=False),
        sa.Column("hostname", sa.String(length=255), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("sandbox", sa.String(length=32), nullable=False),
        sa.Column("environment", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("healthy", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
    )
    op.create_table(
        "drills",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_drills_owner_id_users"),
        sa.PrimaryKeyConstraint("id", name="pk_drills"),
        sa.UniqueConstraint("slug", name="uq_drills_slug"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_tokens_user_id_users", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("sha256", name="uq_tokens_sha256"),
    )
    op.create_index("ix_tokens_user_id", "tokens", ["user_id"])

    op.create_table(
        "drill_versions",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("drill_id", sa.String(length=36), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("manifest", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("package", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["drill_id"], ["drills.id"], name="fk_drill_versions_drill_id_drills"),
        sa.PrimaryKeyConstraint("id", name="pk_drill_versions"),
        sa.UniqueConstraint("drill_id", "number", name="uq_drill_versions_drill_id_number"),
    )
    op.create_table(
        "sessions",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("token_id", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_sessions_token_id_tokens", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("sha256", name="pk_sessions"),
    )
    op.create_index("ix_sessions_token_id", "sessions", ["token_id"])

    op.create_table(
        "submissions",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("drill_id", sa.String(length=36), nullable=False),
        sa.Column("drill_version_id", sa.String(length=36), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("source_sha", sa.String(length=64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("charged", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["drill_id"], ["drills.id"], name="fk_submissions_drill_id_drills"),
        sa.ForeignKeyConstraint(
            ["drill_version_id"], ["drill_versions.id"], name="fk_submissions_drill_version_id_drill_versions"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_submissions_user_id_users"),
        sa.PrimaryKeyConstraint("id", name="pk_submissions"),
    )
    op.create_index("ix_submissions_drill_id", "submissions", ["drill_id"])
    op.create_index("ix_submissions_user_id_created_at", "submissions", ["user_id", "created_at"])
    op.create_index(
        "uq_submissions_attempt",
        "submissions",
        ["user_id", "drill_id", "attempt"],
        unique=True,
        sqlite_where=sa.text("charged"),
        postgresql_where=sa.text("charged"),
    )

    op.create_table(
        "gradings",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("submission_id", sa.String(length=36), nullable=False),
        sa.Column("drill_version_id", sa.String(length=36), nullable=False),
        sa.Column("is_current", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("verdict", sa.String(length=32), nullable=True),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("max_score", sa.Double(), nullable=True),
        sa.Column("queue", sa.String(length=32), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("seed", sa.String(length=64), nullable=False),
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
            ["drill_version_id"], ["drill_versions.id"], name="fk_gradings_drill_version_id_drill_versions"
        ),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_gradings_submission_id_submissions"),
        sa.PrimaryKeyConstraint("id", name="pk_gradings"),
    )
    op.create_index("ix_gradings_state_queued_at", "gradings", ["state", "queued_at"])
    op.create_index("ix_gradings_submission_id", "gradings", ["submission_id"])
    op.create_index(
        "uq_gradings_current",
        "gradings",
        ["submission_id"],
        unique=True,
        sqlite_where=sa.text("is_current"),
        postgresql_where=sa.text("is_current"),
    )

    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.Column("submission_id", sa.String(length=36), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name="fk_idempotency_keys_submission_id_submissions"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_idempotency_keys_user_id_users", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "key", name="pk_idempotency_keys"),
    )
    op.create_table(
        "case_rows",
        sa.Column("grading_id", sa.String(length=36), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("category", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["grading_id"], ["gradings.id"], name="fk_case_rows_grading_id_gradings"),
        sa.PrimaryKeyConstraint("grading_id", "attempt", "ordinal", name="pk_case_rows"),
    )
    op.create_table(
        "events",
        sa.Column("submission_id", sa.String(length=36), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("grading_id", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["grading_id"], ["gradings.id"], name="fk_events_grading_id_gradings"),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_events_submission_id_submissions"),
        sa.PrimaryKeyConstraint("submission_id", "number", name="pk_events"),
    )


def downgrade() -> None:
    for table in (
        "events",
        "case_rows",
        "idempotency_keys",
        "gradings",
        "submissions",
        "sessions",
        "drill_versions",
        "tokens",
        "drills",
        "workers",
        "users",
    ):
        op.drop_table(table)

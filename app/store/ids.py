"""Identifiers that sort by the time they were made."""

from __future__ import annotations

import secrets
import time
import uuid


def new_id() -> str:
    """A UUIDv7 as text. The 12 bits after the milliseconds count fractions of one, so that ids made by one
    process within a millisecond still sort (RFC 9562, section 6.2, method 3)."""
    milliseconds, rest_ns = divmod(time.time_ns(), 1_000_000)
    fraction = (rest_ns << 12) // 1_000_000
    value = milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))

"""Numbers, times and names as pages show them."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup

_ALL_DIGITS = 1000
_MS_PER_S = 1000


def breakable(name: str) -> Markup:
    """A name that may be broken after its underscores, escaped."""
    return Markup("_<wbr>").join(name.split("_"))


def points(value: float) -> str:
    """Points with at most two decimals: 6, 2.67."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def number(value: float) -> str:
    """A measured number with three significant digits, and all of those before the point: 0.976, 51.2, 2620."""
    return f"{value:.0f}" if abs(value) >= _ALL_DIGITS else f"{value:.3g}"


def duration(milliseconds: float) -> str:
    """A duration with its unit."""
    if milliseconds >= _MS_PER_S:
        return f"{milliseconds / _MS_PER_S:.2f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 1 else f"{milliseconds:.2f} ms"


def moment(value: datetime) -> str:
    """A time for reading."""
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"

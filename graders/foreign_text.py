"""Text that somebody else wrote, for whoever reads it on a page or in a terminal."""

from __future__ import annotations

import re

_UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)
"""Controls, and what has no width or turns the direction of text: Python may read a line otherwise than people do."""

_UNSHOWABLE = re.compile(r"[\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    """Text that somebody else wrote, with its invisible characters spelled out as ``⟨U+202E⟩``."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", _UNSHOWABLE.sub("\ufffd", text))

"""What cannot be seen."""

from __future__ import annotations

import pytest

from graders.foreign_text import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tab\tand\r\nlines\rstay", "tab\tand\nlines\nstay"),
        ("\x00\x1b\x7f\x85", "⟨U+0000⟩⟨U+001B⟩⟨U+007F⟩⟨U+0085⟩"),
        ("a\u202eb\u2066c\u200bd\ufeff", "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d⟨U+FEFF⟩"),
        ("核 é \U0001f600 <&>", "核 é \U0001f600 <&>"),
        ("\ud800\uffff", "\ufffd\ufffd"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown

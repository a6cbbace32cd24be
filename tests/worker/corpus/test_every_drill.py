"""No drill that ships is left out."""

from __future__ import annotations

from pathlib import Path

from graders.package import built_in_drills


def test_every_drill_has_its_corpus_graded() -> None:
    tested = {file.stem.removeprefix("test_") for file in Path(__file__).parent.glob("test_*.py")}
    assert set(built_in_drills()) == tested - {"every_drill"}

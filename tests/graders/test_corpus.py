"""Headers of example submissions."""

from __future__ import annotations

from pathlib import Path

import pytest

import graders
from graders.catalogue import flatten
from graders.corpus import CorpusError, corpus, read_header
from graders.manifest import parse_manifest
from graders.package import built_in_drills
from graders.verdict import Lane, Verdict

HERE = Path(graders.__file__).parent


def write(folder: Path, text: str, verdict: str = "wrong_answer") -> Path:
    path = folder / verdict / "a.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_a_full_header_is_read(tmp_path: Path):
    header = "# expect: wrong_answer | runtime_error\n# interpreter: not visible\n# fails: lengths, contract\n"
    found = read_header(write(tmp_path, header + "# misconception: padding_zero\n# a remark\nimport torch\n"))
    assert found.verdicts_in(Lane.GPU) == {Verdict.WRONG_ANSWER, Verdict.RUNTIME_ERROR}
    assert found.verdicts_in(Lane.INTERPRETER) == {Verdict.ACCEPTED}
    assert found.fails == {"lengths", "contract"}
    assert found.misconception == "padding_zero"


def test_a_short_header_is_the_same_in_both_lanes(tmp_path: Path):
    found = read_header(write(tmp_path, "# expect: accepted\n\n# fails: basic\n"))
    assert found.verdicts_in(Lane.GPU) == found.verdicts_in(Lane.INTERPRETER) == {Verdict.ACCEPTED}
    assert (found.fails, found.misconception) == (None, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import torch\n", "no line '# expect"),
        ("# expect: wrong\n", "'wrong' is not a valid Verdict"),
        ("# expect: accepted\n# expect: accepted\n", "said twice"),
        ("# expect: accepted\n", "does not expect"),
    ],
)
def test_a_header_that_cannot_be_used_is_named(tmp_path: Path, text: str, reason: str):
    write(tmp_path, text)
    with pytest.raises(CorpusError, match=f"a.py: .*{reason}"):
        corpus(tmp_path)


@pytest.mark.parametrize("slug", built_in_drills())
def test_headers_name_what_the_drill_knows(slug: str):
    folder = HERE / slug
    manifest = parse_manifest((folder / "drill.toml").read_text("utf-8"))
    sentences = flatten((folder / "sentences.en.toml").read_text("utf-8"))
    for specimen in corpus(folder / "submissions"):
        expectation = specimen.expectation
        assert (expectation.fails or set()) <= {category.name for category in manifest.categories}, specimen.name
        if expectation.misconception is not None:
            assert f"misconception.{expectation.misconception}.title" in sentences, specimen.name
        if not {Verdict.ACCEPTED, Verdict.COMPILE_ERROR} & expectation.interpreter:
            assert expectation.fails, specimen.name


@pytest.mark.parametrize("slug", built_in_drills())
def test_every_category_and_misconception_has_a_submission_that_shows_it(slug: str):
    specimens = [specimen.expectation for specimen in corpus(HERE / slug / "submissions")]
    manifest = parse_manifest((HERE / slug / "drill.toml").read_text("utf-8"))
    sentences = flatten((HERE / slug / "sentences.en.toml").read_text("utf-8"))
    missed = {category.name for category in manifest.categories}
    assert missed == set().union(*(specimen.fails or set() for specimen in specimens))
    named = {specimen.misconception for specimen in specimens} - {None}
    assert named == {key.split(".")[1] for key in sentences if key.startswith("misconception.")}

"""What ``warpgrade drill new`` writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli
from graders.drill import load_drill
from graders.starting import CannotStart, skeleton, write_skeleton
from graders.unpack import read_folder
from graders.verdict import Verdict
from tests.drills import new_drill


def test_the_drill_loads_under_the_name_that_it_was_given(tmp_path: Path):
    write_skeleton("my_drill", tmp_path)
    drill = load_drill(tmp_path, "my_drill")
    assert drill.manifest.slug == "my_drill"
    assert {case.category for case in drill.cases} == {category.name for category in drill.manifest.categories}
    assert drill.baselines == ("copy_baseline", "torch_baseline")


def test_it_shows_every_part_of_a_drill():
    folders = [Path(name).parent.name for name in new_drill().files if "/submissions/" in name]
    assert folders.count(Verdict.ACCEPTED) >= 2
    assert folders.count(Verdict.WRONG_ANSWER) >= 6


def test_the_command_writes_a_tree_that_can_be_zipped(tmp_path: Path):
    done = CliRunner().invoke(cli, ["drill", "new", "my_drill", "--folder", str(tmp_path / "here")])
    assert done.exit_code == 0
    assert f"next: warpgrade drill validate {tmp_path / 'here'}" in done.stderr
    assert read_folder(tmp_path / "here").files == skeleton("my_drill")


def test_nothing_is_overwritten(tmp_path: Path):
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference/my_drill.py").write_text("mine")
    done = CliRunner().invoke(cli, ["drill", "new", "my_drill", "--folder", str(tmp_path)])
    assert done.exit_code == 1
    assert "is there already" in done.stderr
    assert not (tmp_path / "graders").exists()


@pytest.mark.parametrize("slug", ["", "My-Drill", "a__b", "1st", "inputs", "softmax"])
def test_a_name_that_cannot_be_a_drills_is_refused(slug: str):
    with pytest.raises(CannotStart):
        skeleton(slug)


def test_the_command_prints_the_schema():
    done = CliRunner().invoke(cli, ["drill", "schema"])
    assert done.stdout == (Path(__file__).parents[2] / "docs/drill.schema.json").read_text("utf-8")

"""Drills with a planted hole are refused with the finding that names the hole; a sound one is valid."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from graders.limits import Limits
from graders.package import Package
from graders.validation import Finding, FindingCode, ValidationReport
from graders.verdict import Verdict
from tests.drills import CASES, MANIFEST, REFERENCE, changed, new_drill, small_drill
from tests.packages import reduced
from tests.worker.validation.conftest import Watched
from worker.standalone import Judging
from worker.supervisor.lane import Post
from worker.supervisor.supervisor import Cancelled
from worker.validation import __main__ as command
from worker.validation.engine import Validation

ABSOLUTE = 'policy = "one_rounding_and_absolute"\nabsolute = 1e-4'


def validate(package: Package, post: Post, watched: Watched | None = None) -> ValidationReport:
    return Validation(package, post, watched or Watched()).run()


def finding(report: ValidationReport, code: FindingCode) -> Finding:
    """The one finding with this code."""
    (found,) = [item for item in report.findings if item.code is code]
    return found


def test_a_sound_drill_is_valid(post: Post, watched: Watched):
    package = small_drill("accepted/in_steps", "wrong_answer/signed_sum", basic=("positive", "random"))
    report = validate(package, post, watched)
    assert report.errors == []
    assert report.valid
    assert {outcome.name: outcome.got for outcome in report.submissions} == {
        "reference/row_shares": Verdict.ACCEPTED,
        "accepted/in_steps": Verdict.ACCEPTED,
        "wrong_answer/signed_sum": Verdict.WRONG_ANSWER,
    }
    assert all(outcome.as_expected for outcome in report.submissions)
    assert [(case.name, case.caught_by) for case in report.cases] == [
        ("positive", []),
        ("random", ["wrong_answer/signed_sum"]),
    ]
    assert finding(report, FindingCode.CASE_CATCHES_NOTHING).case == "basic/positive"
    (cost,) = report.costs
    assert cost.slowest_case_ms > 0
    assert cost.memory_mib is not None
    assert watched.stages == ["form", "code", "submissions"]
    assert watched.counts == [(1, 3), (2, 3), (3, 3)]
    assert ValidationReport.model_validate_json(report.model_dump_json()) == report


@pytest.fixture(scope="module")
def holed(post: Post) -> ValidationReport:
    """Three holes: a fixed tolerance, a reference without its guard, a category that misses its point."""
    package = small_drill(
        "wrong_answer/nan_on_zero_row",
        "wrong_answer/out_like_x",
        lengths=("n5000",),
        zero_rows=("one_row",),
        views=("out_row_stride",),
    )
    package = changed(package, MANIFEST, 'policy = "one_rounding"', ABSOLUTE)
    package = changed(package, REFERENCE, "tl.where(total == 0, 1.0, total)", "total")
    return validate(changed(package, CASES, ", out_stride=128", ""), post)


def test_a_fixed_absolute_tolerance_is_a_hole(holed: ValidationReport):
    assert not holed.valid
    assert finding(holed, FindingCode.PASSES_ONE_ELEMENT_OFF).params == {"dtype": "float32", "shapes": "2×5000"}


def test_a_category_whose_tests_miss_its_point_is_a_hole(holed: ValidationReport):
    uncaught = finding(holed, FindingCode.NOT_CAUGHT)
    assert (uncaught.submission, uncaught.params["claims"]) == ("wrong_answer/out_like_x", "views")
    idle = [item.category for item in holed.errors if item.code is FindingCode.CATEGORY_CATCHES_NOTHING]
    assert idle == ["lengths", "views"]


def test_a_reference_that_fails_a_test_is_a_hole(holed: ValidationReport):
    hole = finding(holed, FindingCode.REFERENCE_FAILS)
    assert (hole.case, hole.file, hole.params) == ("zero_rows/one_row", REFERENCE, {"verdict": "wrong_answer"})


def test_a_claim_that_no_test_is_made_for_is_a_hole(post: Post, watched: Watched):
    """T2 without its rows that are all -inf, although a wrong submission is there for them."""
    package = reduced(Package.from_tree("t2_softmax"), basic=("small_numbers",))
    claiming = "graders/t2_softmax/submissions/wrong_answer/nan_on_all_inf.py"
    files = {name: data for name, data in package.files.items() if "/submissions/" not in name or name == claiming}
    report = validate(Package(package.slug, files), post, watched)
    assert not report.valid
    hole = finding(report, FindingCode.HEADER_UNKNOWN_CATEGORY)
    assert (hole.file, hole.submission, hole.category) == (claiming, "wrong_answer/nan_on_all_inf", "all_inf")
    assert watched.stages == ["form"]


def test_code_that_cannot_run_ends_it_before_the_submissions(post: Post, watched: Watched):
    report = validate(changed(new_drill(), CASES, "import torch\n", "import torch\n\n1 / 0\n"), post, watched)
    assert not report.valid
    assert not report.complete
    assert finding(report, FindingCode.LOAD_EXCEPTION).file == CASES
    assert watched.stages == ["form", "code"]


def test_a_validation_can_be_stopped(post: Post, watched: Watched):
    watched.stop_at = "submissions"
    with pytest.raises(Cancelled):
        validate(small_drill("wrong_answer/signed_sum", basic=("positive", "random")), post, watched)


@pytest.fixture
def _on_this_post(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "set_up", lambda: Judging(post, Limits.default(post.lane)))


@pytest.mark.usefixtures("_on_this_post")
def test_the_command_tells_what_is_wrong_with_a_zip(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "drill.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in changed(new_drill(), MANIFEST, "tags =", "tag =").files.items():
            archive.writestr(name, data)
    assert command.main([str(path)]) == 1
    assert "error   graders/row_shares/drill.toml:3: drill.toml has the key tag" in capsys.readouterr().out
    assert command.main([str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["valid"], told["findings"][0]["code"]) == (False, "unknown_key_near")


@pytest.mark.usefixtures("_on_this_post")
def test_the_command_reports_what_is_no_drill_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "drill.zip"
    path.write_bytes(b"nothing")
    assert command.main([str(path)]) == 1
    assert "[package_unreadable]" in capsys.readouterr().out
    assert command.main([str(tmp_path / "gone.zip")]) == 2
    assert "is no file, no folder and none of the drills" in capsys.readouterr().err

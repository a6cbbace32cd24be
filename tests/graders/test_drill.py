"""Loading drills: from any tree, one version after the other, and every reason to refuse one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import graders
from graders.drill import DrillError, load_drill

SLUG = "tiny"
FILES = {
    "graders/tiny/drill.toml": """
format = 1
slug = "tiny"
title = { en = "t", zh = "标" }
summary = { en = "s", zh = "述" }
entry_point = { name = "double", inputs = ["x"], outputs = ["out"] }
tolerance = { policy = "one_rounding", relative = 2e-5, reason = "r" }
operations = { allowed = [] }
categories = [{ name = "basic", points = 6, visibility = "public", title = { en = "b", zh = "基" } }]
""",
    "graders/tiny/cases.py": """
from graders.cases import Case
from graders.inputs import destination, strided
from graders.memory import Call
from graders.tiny.sizes import COLUMNS
from reference.tiny import FACTOR


def make(draw):
    x = strided(draw.normal(2, COLUMNS) * FACTOR)
    return Call((x,), (destination(x),))


CASES = (Case("one", "basic", make),)
""",
    "graders/tiny/sizes.py": "COLUMNS = 3\n",
    "graders/tiny/misconceptions.py": """
from graders.misconception import Misconception

MISCONCEPTIONS = (Misconception("half", lambda call: True, (lambda call: (call.inputs[0].values.double(),),)),)
""",
    "graders/tiny/statement.en.md": "Double it.\n",
    "graders/tiny/statement.zh.md": "乘以二。\n",
    "graders/tiny/starter.py": "def double(x, out): ...\n",
    "graders/tiny/sentences.en.toml": '[misconception.half]\ntitle = "t"\nevidence = "{count}"\nhint = "h"\n',
    "graders/tiny/sentences.zh.toml": '[misconception.half]\ntitle = "标"\nevidence = "{count}"\nhint = "示"\n',
    "reference/tiny.py": """
FACTOR = 2


def oracle(x):
    return x.double() * FACTOR


def double(x, out):
    out.copy_(x * FACTOR)
""",
}


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    yield write(tmp_path / "first")
    for name in [name for name in sys.modules if SLUG in name.split(".")]:
        del sys.modules[name]


def write(root: Path, **changed: str) -> Path:
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed.get(path.name, text), "utf-8")
    return root


def test_a_drill_is_loaded_from_any_tree(tree: Path):
    drill = load_drill(tree, SLUG)
    assert [case.name for case in drill.cases] == ["one"]
    assert [item.key for item in drill.misconceptions] == ["half"]
    (expected,) = drill.oracle(torch.ones(2, 2))
    assert torch.equal(expected, torch.full((2, 2), 2.0, dtype=torch.float64))
    out = torch.empty(2)
    drill.entry_point(torch.ones(2), out)
    assert out.tolist() == [2, 2]
    assert drill.catalogue.render("misconception.half.evidence", {"count": 3}, "zh") == "3"
    assert drill.policy.bound(expected, torch.float32).shape == (2, 2)


def test_a_reference_may_have_another_function_to_be_timed_against(tree: Path, tmp_path: Path):
    assert load_drill(tree, SLUG).timed_reference is None
    faster = FILES["reference/tiny.py"] + "\n\ndef timed_reference(x, out):\n    from nowhere import fastest\n"
    assert load_drill(write(tmp_path / "second", **{"tiny.py": faster}), SLUG).timed_reference == "timed_reference"


def test_another_version_takes_the_place_of_the_first(tree: Path, tmp_path: Path):
    first = load_drill(tree, SLUG)
    other = write(tmp_path / "second")
    (other / "graders/tiny/sizes.py").write_text("COLUMNS = 7\n")
    (other / "reference/tiny.py").write_text(FILES["reference/tiny.py"].replace("FACTOR = 2", "FACTOR = 5"))
    second = load_drill(other, SLUG)
    assert float(second.oracle(torch.ones(1, 1))[0]) == 5
    assert float(first.oracle(torch.ones(1, 1))[0]) == 2
    assert sys.modules["graders.tiny.sizes"].COLUMNS == 7
    assert sys.modules["reference.tiny"].FACTOR == 5
    again = load_drill(tree, SLUG)
    assert float(again.oracle(torch.ones(1, 1))[0]) == 2
    assert sys.modules["graders.tiny.sizes"].COLUMNS == 3


def replaced(name: str, old: str, new: str) -> dict[str, str]:
    (text,) = (text for path, text in FILES.items() if Path(path).name == name)
    assert old in text
    return {name: text.replace(old, new)}


SECOND_CASE = 'Case("one", "basic", make), Case("one", "basic", make)'
SECOND_CATEGORY = (
    '{ name = "more", points = 1, visibility = "public", title = { en = "b", zh = "基" } }, { name = "basic"'
)
REFUSED = [
    (replaced("drill.toml", 'slug = "tiny"', 'slug = "other"'), "drill.toml: slug is 'other'"),
    (replaced("drill.toml", "format = 1", "format = 2"), "drill.toml: format"),
    (replaced("drill.toml", "one_rounding", "close"), "drill.toml: tolerance.policy: Input should be 'one_rounding'"),
    (replaced("drill.toml", '{ name = "basic"', SECOND_CATEGORY), "drill.toml: category 'more' has no case"),
    (replaced("cases.py", '"one", "basic"', '"one", "speed"'), "cases.py: case 'one' is of category 'speed'"),
    (replaced("cases.py", 'Case("one", "basic", make)', SECOND_CASE), "cases.py: two cases are named 'one'"),
    (replaced("cases.py", "make),)", "make, calls=0),)"), "cases.py: case 'one' is never called"),
    (replaced("cases.py", "CASES = (", "NOTHING = ("), "cases.py: CASES is not a tuple of Case"),
    (replaced("cases.py", "import Case\n", "import Caze\n"), "cases.py: ImportError"),
    (
        replaced("misconceptions.py", 'Misconception("half"', 'Misconception("third"'),
        "no sentence 'misconception.third",
    ),
    (replaced("sentences.zh.toml", 'hint = "示"', ""), "sentences.zh.toml: no sentence 'misconception.half.hint'"),
    (replaced("sentences.zh.toml", "{count}", "{total}"), "'misconception.half.evidence' names other parameters"),
    (replaced("sentences.en.toml", "[misc", '[verdict]\naccepted = "a"\n[misc'), "no sentence 'verdict.accepted'"),
    (replaced("statement.zh.md", "乘以二。", ""), "statement.zh.md: is empty"),
    (replaced("starter.py", "def", "dof"), "starter.py: line 1"),
    (replaced("tiny.py", "def oracle", "def answer"), "reference/tiny.py: no function 'oracle'"),
    (replaced("tiny.py", "def double", "def twice"), "reference/tiny.py: no function 'double'"),
]


@pytest.mark.parametrize(("changed", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_a_drill_that_cannot_be_used_is_refused(tree: Path, changed: dict[str, str], reason: str):
    write(tree, **changed)
    with pytest.raises(DrillError) as refused:
        load_drill(tree, SLUG)
    assert reason in str(refused.value)


def test_a_sentence_of_the_judges_cannot_be_replaced(tree: Path):
    extra = '[verdict]\naccepted = "a"\n'
    for locale in ("en", "zh"):
        path = tree / f"graders/tiny/sentences.{locale}.toml"
        path.write_text(extra + path.read_text("utf-8"), "utf-8")
    with pytest.raises(DrillError, match=r"'verdict.accepted' is a sentence of the judge's"):
        load_drill(tree, SLUG)


@pytest.mark.parametrize("name", sorted(set(FILES) - {"graders/tiny/sizes.py"}))
def test_a_missing_file_is_named(tree: Path, name: str):
    (tree / name).unlink()
    with pytest.raises(DrillError, match=Path(name).name):
        load_drill(tree, SLUG)


def test_text_that_is_not_utf8_is_named(tree: Path):
    (tree / "graders/tiny/statement.en.md").write_bytes(b"\xff\xfe")
    with pytest.raises(DrillError, match=r"statement.en.md: not UTF-8"):
        load_drill(tree, SLUG)


def test_a_built_in_drill_loads_from_an_unpacked_copy(tmp_path: Path):
    root = Path(graders.__file__).parent.parent
    shutil.copytree(root / "graders/t2_softmax", tmp_path / "graders/t2_softmax")
    (tmp_path / "reference").mkdir()
    shutil.copy(root / "reference/t2_softmax.py", tmp_path / "reference")
    drill = load_drill(tmp_path, "t2_softmax")
    assert drill.folder == tmp_path / "graders/t2_softmax"
    assert load_drill(root, "t2_softmax").folder == root / "graders/t2_softmax"

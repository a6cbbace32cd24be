"""The handbook for instructors knows every finding, every key and every family."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from graders import inputs
from graders.catalogue import judge_catalogue
from graders.limits import LimitsOverride
from graders.manifest import Category, EntryPoint, Manifest, PerformancePart, Tolerance
from graders.validation import FindingCode
from graders.verdict import Verdict, Visibility

TEXT = (Path(__file__).parents[2] / "docs/authoring.md").read_text("utf-8")


def test_every_finding_stands_there_with_its_cure():
    rows = dict(re.findall(r"^\| `(\w+)` \| (error|warning) \| ", TEXT, re.MULTILINE))
    assert rows == {code.value: code.severity.value for code in FindingCode}
    for code in FindingCode:
        cure = judge_catalogue().render(f"validation_cure.{code}").replace("<", "&lt;")
        assert f"| `{code}` | {code.severity} | {cure} |" in TEXT


def test_every_key_of_drill_toml_is_explained():
    tables = (Manifest, EntryPoint, Tolerance, Category, PerformancePart, LimitsOverride)
    missing = {name for table in tables for name in table.model_fields if f"`{name}" not in TEXT}
    assert missing - {"limits"} == set()
    assert all(f"`{visibility}`" in TEXT for visibility in Visibility)


def test_every_family_and_folder_is_named():
    families = [
        name for name, item in vars(inputs).items() if inspect.isfunction(item) and item.__module__ == inputs.__name__
    ]
    assert all(f"`{name}(" in TEXT for name in families)
    assert all(f"`{verdict}`" in TEXT for verdict in Verdict if verdict is not Verdict.JUDGE_ERROR)

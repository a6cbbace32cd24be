"""A drill, loaded from a tree that holds ``graders/<slug>/`` and ``reference/<slug>.py``.

Wherever the tree lies, the drill's modules are imported under the names that they use of each other:
``graders.<slug>.…`` and ``reference.<slug>``. A process holds one version of a slug at a time; loading
another one replaces it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import torch

import graders
import reference
from graders.cases import Case
from graders.catalogue import LOCALES, Catalogue, flatten, judge_catalogue
from graders.manifest import Manifest, ManifestError, parse_manifest
from graders.misconception import Misconception
from graders.timed import TimedShape
from graders.tolerance import Policy, policy_for

T = TypeVar("T")
Oracle = Callable[..., tuple[torch.Tensor, ...]]


BASELINES = ("copy_baseline", "torch_baseline")
"""A copy of the same bytes, and what torch has for the task."""

TIMED_REFERENCE = "timed_reference"
"""What submissions are timed against, where that is not the reference's entry point."""


class DrillError(ValueError):
    """A drill that cannot be used; the message names the file and the reason."""


@dataclass(frozen=True)
class Drill:
    """A drill, validated.

    ``oracle(*inputs)`` gives the right outputs in float64, always as a tuple; ``entry_point`` is the reference,
    called as a submission is; ``catalogue`` has the judge's sentences and the drill's. ``count_wrong(*inputs, *outs,
    relative)``, where there is one, does the oracle's and the policy's work in one kernel: a count on the device.
    ``timed_reference`` is ``TIMED_REFERENCE`` where the reference has it, ``baselines`` those of ``BASELINES`` that it
    has: called as the entry point is, and timed instead of it or beside it.
    """

    slug: str
    manifest: Manifest
    cases: tuple[Case, ...]
    misconceptions: tuple[Misconception, ...]
    oracle: Oracle
    entry_point: Callable[..., None]
    policy: Policy
    catalogue: Catalogue
    folder: Path
    reference: Path
    shapes: tuple[TimedShape, ...] = ()
    count_wrong: Callable[..., torch.Tensor] | None = None
    timed_reference: str | None = None
    baselines: tuple[str, ...] = ()


def load_drill(root: Path, slug: str) -> Drill:
    """Load and validate the drill ``slug`` of the tree ``root``. Raises DrillError.

    Runs the drill's own code: for trusted processes that judge, never for the web service. A tree must not be
    overwritten with another version: unpack each into a folder of its own.
    """
    folder, oracle_file = root / "graders" / slug, root / "reference" / f"{slug}.py"
    manifest = _manifest(folder)
    if manifest.slug != slug:
        raise DrillError(f"drill.toml: slug is {manifest.slug!r}, but the folder is {slug!r}")
    _forget(slug)
    numerics = _module(oracle_file, f"reference.{slug}", folder)
    cases = _module(folder / "cases.py", f"graders.{slug}.cases", folder)
    mistakes = _module(folder / "misconceptions.py", f"graders.{slug}.misconceptions", folder)
    drill = Drill(
        slug=slug,
        manifest=manifest,
        cases=_tuple_of(Case, cases, "CASES", "cases.py"),
        misconceptions=_tuple_of(Misconception, mistakes, "MISCONCEPTIONS", "misconceptions.py"),
        oracle=_as_tuple(_function(numerics, "oracle", oracle_file)),
        entry_point=_function(numerics, manifest.entry_point.name, oracle_file),
        policy=policy_for(manifest.tolerance),
        catalogue=judge_catalogue().extended({locale: _text(folder, f"sentences.{locale}.toml") for locale in LOCALES}),
        folder=folder,
        reference=oracle_file,
        shapes=_shapes(manifest, folder),
        count_wrong=getattr(numerics, "count_wrong", None),
        timed_reference=TIMED_REFERENCE if hasattr(numerics, TIMED_REFERENCE) else None,
        baselines=tuple(name for name in BASELINES if hasattr(numerics, name)),
    )
    _check_cases(drill)
    _check_texts(drill)
    return drill


def _manifest(folder: Path) -> Manifest:
    try:
        return parse_manifest(_text(folder, "drill.toml"))
    except ManifestError as error:
        raise DrillError(f"drill.toml: {error}") from error


def _shapes(manifest: Manifest, folder: Path) -> tuple[TimedShape, ...]:
    if manifest.performance is None:
        return ()
    module = _module(folder / "performance.py", f"graders.{manifest.slug}.performance", folder)
    shapes = _tuple_of(TimedShape, module, "SHAPES", "performance.py")
    if not shapes:
        raise DrillError("performance.py: SHAPES is empty, but drill.toml has points for performance")
    return shapes


def _text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text("utf-8")
    except FileNotFoundError as error:
        raise DrillError(f"{name}: the file is missing in {folder}") from error
    except UnicodeDecodeError as error:
        raise DrillError(f"{name}: not UTF-8 text ({error.reason} at byte {error.start})") from error


def _forget(slug: str) -> None:
    """Remove another version's modules."""
    names = (f"graders.{slug}", f"reference.{slug}")
    for name in [name for name in sys.modules if name in names or name.startswith(tuple(f"{n}." for n in names))]:
        del sys.modules[name]
    for package in (graders, reference):
        vars(package).pop(slug, None)
    importlib.invalidate_caches()


def _module(path: Path, name: str, folder: Path) -> ModuleType:
    """Import ``path`` as ``name``; within the drill's own package where that is its parent."""
    package = name.rpartition(".")[0]
    if package.startswith("graders.") and package not in sys.modules:
        spec = ModuleSpec(package, loader=None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        sys.modules[package] = importlib.util.module_from_spec(spec)
        setattr(graders, package.rpartition(".")[2], sys.modules[package])
    spec_of_file = importlib.util.spec_from_file_location(name, path)
    if spec_of_file is None or spec_of_file.loader is None or not path.is_file():
        raise DrillError(f"{path.name}: the file is missing in {path.parent}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec_of_file)
    try:
        spec_of_file.loader.exec_module(module)
    except Exception as error:
        raise DrillError(f"{path.name}: {type(error).__name__}: {error}") from error
    setattr(sys.modules[package], name.rpartition(".")[2], module)
    return module


def _function(module: ModuleType, name: str, path: Path) -> Callable[..., Any]:
    function = getattr(module, name, None)
    if not callable(function):
        raise DrillError(f"{path.parent.name}/{path.name}: no function {name!r}")
    return function  # type: ignore[no-any-return]


def _as_tuple(oracle: Callable[..., torch.Tensor | tuple[torch.Tensor, ...]]) -> Oracle:
    def outputs(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        result = oracle(*inputs)
        return result if isinstance(result, tuple) else (result,)

    return outputs


def _tuple_of(kind: type[T], module: ModuleType, name: str, file: str) -> tuple[T, ...]:
    items = getattr(module, name, None)
    if not isinstance(items, Sequence) or not all(isinstance(item, kind) for item in items):
        raise DrillError(f"{file}: {name} is not a tuple of {kind.__name__}")
    return tuple(items)


def _check_cases(drill: Drill) -> None:
    declared = [category.name for category in drill.manifest.categories]
    for name in _repeated(case.name for case in drill.cases):
        raise DrillError(f"cases.py: two cases are named {name!r}")
    for case in drill.cases:
        if case.category not in declared:
            raise DrillError(f"cases.py: case {case.name!r} is of category {case.category!r}, unknown to drill.toml")
        if case.calls < 1 or not case.lanes:
            raise DrillError(f"cases.py: case {case.name!r} is never called")
    for name in declared:
        if all(case.category != name for case in drill.cases):
            raise DrillError(f"drill.toml: category {name!r} has no case in cases.py")


def _check_texts(drill: Drill) -> None:
    for name in _repeated(item.key for item in drill.misconceptions):
        raise DrillError(f"misconceptions.py: two misconceptions are named {name!r}")
    needed = {key for item in drill.misconceptions for key in (item.title_key, item.evidence_key, item.hint_key)}
    own = {locale: flatten(_text(drill.folder, f"sentences.{locale}.toml")) for locale in LOCALES}
    for locale, other in zip(LOCALES, reversed(LOCALES), strict=True):
        for key in sorted((needed | set(own[other])) - set(own[locale])):
            raise DrillError(f"sentences.{locale}.toml: no sentence {key!r}")
        if not _text(drill.folder, f"statement.{locale}.md").strip():
            raise DrillError(f"statement.{locale}.md: is empty")
    for key in sorted(own["en"]):
        if key in judge_catalogue().keys("en"):
            raise DrillError(f"sentences.en.toml: {key!r} is a sentence of the judge's")
        if drill.catalogue.fields(key, "en") != drill.catalogue.fields(key, "zh"):
            raise DrillError(f"sentences.zh.toml: {key!r} names other parameters than in English")
    try:
        compile(_text(drill.folder, "starter.py"), "starter.py", "exec")
    except SyntaxError as error:
        raise DrillError(f"starter.py: line {error.lineno}: {error.msg}") from error


def _repeated(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]

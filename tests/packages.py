"""Drill packages cut down to what a test needs. Imports none of the web packages."""

from __future__ import annotations

from graders.package import Package


def reduced(package: Package, **cases: tuple[str, ...]) -> Package:
    """The drill with the named cases of each named category alone."""
    folder = f"graders/{package.slug}"
    head, *categories = package.text("drill.toml").split("[[categories]]")
    kept = [category for category in categories if any(f'name = "{name}"' in category for name in cases)]
    assert len(kept) == len(cases)
    names = {name for of_category in cases.values() for name in of_category}
    selection = f"\nCASES = tuple(case for case in CASES if case.name in {names!r})\n"
    return Package(
        package.slug,
        package.files
        | {
            f"{folder}/drill.toml": "[[categories]]".join([head, *kept]).encode(),
            f"{folder}/cases.py": package.files[f"{folder}/cases.py"] + selection.encode(),
        },
    )


BASIC = {"basic": ("small_numbers", "random", "all_equal")}
"""T2's category of ordinary rows, in full."""

AROUND_A_FAULT = BASIC | {"contract": ("x_unchanged",)}
"""Two cases of T2 before the one that ``tests.faults`` strikes, and one after it, compiled quickly."""

"""``python -m app.drills.inspection``: an uploaded zip on standard input, on standard output what is wrong with it.

A process of its own, with little memory and time: what an upload can do to a parser, it does to this process. Nothing
of the drill is run, and no file can be written.
"""

from __future__ import annotations

import ast
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from graders.archive import PackageRefused
from graders.form import check_form
from graders.package import Package
from graders.unpack import read_zip
from graders.validation import Finding, FindingCode, Severity

CPU_S = 5
MEMORY_MIB = 1024
MOST_FINDINGS = 100


@dataclass(frozen=True)
class Inspected:
    """What is wrong with an upload, or the package that it is, as a zip of ours."""

    findings: list[Finding] = field(default_factory=list)
    slug: str = ""
    package: bytes = b""


def encode(inspected: Inspected) -> bytes:
    """One line of findings, one with the slug, then the zip."""
    return b"\n".join([_FINDINGS.dump_json(inspected.findings), inspected.slug.encode(), inspected.package])


def decode(answer: bytes) -> Inspected:
    findings, slug, package = answer.split(b"\n", 2)
    return Inspected(_FINDINGS.validate_json(findings), slug.decode(), package)


def inspect(data: bytes) -> Inspected:
    """Everything that can be told without running the drill."""
    try:
        package = read_zip(data)
        errors = [finding for finding in check_form(package) if finding.severity is Severity.ERROR]
        findings = [*errors, *_unparsable(package)]
    except PackageRefused as refused:
        findings = [refused.finding]
    except MemoryError:
        findings = [unreadable("its content needs too much memory")]
    if findings:
        return Inspected(findings[:MOST_FINDINGS])
    return Inspected([], package.slug, package.to_zip())


def unreadable(reason: str) -> Finding:
    return Finding.of(FindingCode.PACKAGE_UNREADABLE, reason=reason)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MIB << 20, MEMORY_MIB << 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    sys.stdout.buffer.write(encode(inspect(sys.stdin.buffer.read())))


def _unparsable(package: Package) -> Iterator[Finding]:
    """The drill's own Python that does not parse. Among its submissions such files are wanted."""
    submissions = f"graders/{package.slug}/submissions/"
    for file, content in sorted(package.files.items()):
        if file.endswith(".py") and not file.startswith(submissions):
            try:
                ast.parse(content)
            except SyntaxError as error:
                yield Finding.of(FindingCode.PYTHON_SYNTAX, file=file, line=error.lineno or None, message=error.msg)
            except (ValueError, MemoryError, RecursionError) as error:
                yield Finding.of(FindingCode.PYTHON_SYNTAX, file=file, message=str(error) or "it is nested too deeply")


_FINDINGS = TypeAdapter(list[Finding])

if __name__ == "__main__":
    main()

"""The form of a drill's package: everything that can be found wrong without running any of its code."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from graders.catalogue import LOCALES, fields_of, flatten, judge_catalogue
from graders.corpus import CorpusError, Example, parse_header, require_folder
from graders.limits import SOURCE_BYTES
from graders.manifest import FORMAT, Manifest, ManifestError, ManifestProblem, ProblemKind, parse_manifest
from graders.package import Package
from graders.report import Param
from graders.toml_places import error_line, line_of
from graders.validation import Finding, FindingCode
from graders.verdict import Verdict

_HERE = Path(__file__).parent
_TEXTS = (".toml", ".md", ".py")
_SENTENCES_OF_A_MISCONCEPTION = ("title", "evidence", "hint")


def check_form(package: Package) -> list[Finding]:
    """What is wrong with the package's form. Safe for any process: nothing of it is imported or compiled."""
    unreadable = list(_unreadable(package))
    if unreadable:
        return unreadable
    manifest, problems = _manifest(package)
    findings = [*_missing(package, manifest), *problems, *_slug(package, manifest)]
    sentences, unparsed = _sentences(package)
    findings += [*unparsed, *_sentence_findings(package, sentences)]
    if manifest is not None:
        findings += _statements(package, manifest)
        findings += _headers(package, manifest, sentences)
    return findings


def examples_of(package: Package) -> list[Example]:
    """The package's submissions, by name. Raises CorpusError for a header that ``check_form`` would have told."""
    return [_example(package, file) for file in _submissions(package)]


def _path(package: Package, name: str) -> str:
    return f"graders/{package.slug}/{name}"


def _text(package: Package, name: str) -> str:
    """A file of the drill's folder, empty where it is missing."""
    return package.files.get(_path(package, name), b"").decode("utf-8")


def _unreadable(package: Package) -> Iterator[Finding]:
    for file, data in sorted(package.files.items()):
        if file.endswith(_TEXTS):
            try:
                data.decode("utf-8")
            except UnicodeDecodeError as error:
                line = data.count(b"\n", 0, error.start) + 1
                yield Finding.of(FindingCode.NOT_UTF8, file=file, line=line, offset=error.start)


def _missing(package: Package, manifest: Manifest | None) -> Iterator[Finding]:
    names = ["starter.py", "cases.py", "misconceptions.py"]
    names += [
        f"{name}.{locale}.{kind}" for name, kind in (("statement", "md"), ("sentences", "toml")) for locale in LOCALES
    ]
    if manifest is not None and manifest.performance is not None:
        names.append("performance.py")
    for file in [*(_path(package, name) for name in names), f"reference/{package.slug}.py"]:
        if file not in package.files:
            yield Finding.of(FindingCode.FILE_MISSING, file=file)


def _manifest(package: Package) -> tuple[Manifest | None, list[Finding]]:
    try:
        return parse_manifest(_text(package, "drill.toml")), []
    except ManifestError as error:
        return None, [_manifest_finding(_path(package, "drill.toml"), problem) for problem in error.problems]


def _manifest_finding(file: str, problem: ManifestProblem) -> Finding:
    params: dict[str, Param]
    match problem.kind:
        case ProblemKind.SYNTAX:
            code, params = FindingCode.TOML_SYNTAX, {"reason": problem.reason}
        case ProblemKind.FORMAT:
            code, params = FindingCode.UNSUPPORTED_FORMAT, {"got": problem.reason, "known": str(FORMAT)}
        case ProblemKind.UNKNOWN_KEY if problem.near is None:
            code, params = FindingCode.UNKNOWN_KEY, {"key": problem.key}
        case ProblemKind.UNKNOWN_KEY:
            code, params = FindingCode.UNKNOWN_KEY_NEAR, {"key": problem.key, "near": str(problem.near)}
        case ProblemKind.VALUE:
            code, params = FindingCode.BAD_VALUE, {"key": problem.key, "reason": problem.reason}
    return Finding(code=code, severity=code.severity, file=file, line=problem.line, params=params)


def _slug(package: Package, manifest: Manifest | None) -> Iterator[Finding]:
    file = _path(package, "drill.toml")
    if package.slug in reserved_slugs():
        yield Finding.of(FindingCode.SLUG_RESERVED, file=file, slug=package.slug)
    if manifest is not None and manifest.slug != package.slug:
        line = line_of(_text(package, "drill.toml"), ("slug",))
        yield Finding.of(FindingCode.SLUG_MISMATCH, file=file, line=line, slug=manifest.slug, folder=package.slug)


def reserved_slugs() -> set[str]:
    """Names that a drill would take from modules of ours: it is imported as graders.<slug> and reference.<slug>."""
    modules = chain(_HERE.glob("*.py"), (_HERE.parent / "reference").iterdir())
    drills = {path.parent.name for path in _HERE.glob("*/drill.toml")}
    return {path.stem for path in modules} - drills


def _sentences(package: Package) -> tuple[dict[str, dict[str, str]], list[Finding]]:
    """The drill's sentences, by those languages whose file is there and is TOML."""
    read: dict[str, dict[str, str]] = {}
    findings = []
    for locale in LOCALES:
        name = f"sentences.{locale}.toml"
        try:
            if _path(package, name) in package.files:  # else told as missing
                read[locale] = flatten(_text(package, name))
        except tomllib.TOMLDecodeError as error:
            file = _path(package, name)
            findings.append(Finding.of(FindingCode.TOML_SYNTAX, file=file, line=error_line(error), reason=str(error)))
    return read, findings


def _sentence_findings(package: Package, sentences: dict[str, dict[str, str]]) -> Iterator[Finding]:
    known = set().union(*sentences.values())
    parts = [key.split(".") for key in known if key.startswith("misconception.")]
    needed = {f"misconception.{part[1]}.{name}" for part in parts for name in _SENTENCES_OF_A_MISCONCEPTION}
    for locale, read in sentences.items():
        file = _path(package, f"sentences.{locale}.toml")
        for key in sorted((known | needed) - set(read)):
            yield Finding.of(FindingCode.SENTENCE_MISSING, file=file, key=key)
    own = judge_catalogue().keys("en")
    for key in sorted(known):
        yield from _sentence(package, key, {locale: read[key] for locale, read in sentences.items() if key in read})
        if key in own:
            yield Finding.of(FindingCode.SENTENCE_TAKEN, file=_path(package, "sentences.en.toml"), key=key)


def _sentence(package: Package, key: str, versions: dict[str, str]) -> Iterator[Finding]:
    fields, unreadable = [], False
    for locale, text in versions.items():
        try:
            fields.append(fields_of(text))
        except ValueError as error:
            unreadable = True
            file = _path(package, f"sentences.{locale}.toml")
            yield Finding.of(FindingCode.SENTENCE_UNREADABLE, file=file, key=key, reason=str(error))
    if not unreadable and any(named != fields[0] for named in fields):
        yield Finding.of(FindingCode.SENTENCE_FIELDS, file=_path(package, "sentences.zh.toml"), key=key)


def _statements(package: Package, manifest: Manifest) -> Iterator[Finding]:
    for locale in LOCALES:
        name = f"statement.{locale}.md"
        file, text = _path(package, name), _text(package, name)
        if file not in package.files:
            continue
        if not text.strip():
            yield Finding.of(FindingCode.STATEMENT_EMPTY, file=file)
            continue
        said = _letters(text)
        for category in manifest.categories:
            title = category.title.text(locale)
            if _letters(title) not in said:
                yield Finding.of(FindingCode.STATEMENT_OMITS_CATEGORY, file=file, category=category.name, title=title)


def _letters(text: str) -> str:
    """What is compared: letters and digits alone, so that marks and dashes of other kinds do not matter."""
    return "".join(filter(str.isalnum, text.casefold()))


def _submissions(package: Package) -> list[str]:
    folder = _path(package, "submissions/")
    return sorted(file for file in package.files if file.startswith(folder) and file.endswith(".py"))


def _headers(package: Package, manifest: Manifest, sentences: dict[str, dict[str, str]]) -> list[Finding]:
    findings, examples = [], []
    for file in _submissions(package):
        try:
            examples.append(_example(package, file))
        except CorpusError as error:
            name, code = _name(package, file), FindingCode.HEADER_UNREADABLE
            findings.append(Finding.of(code, file=file, line=error.line, submission=name, reason=error.reason))
    for example in examples:
        findings += _header(example, manifest, sentences.get("en"))
    allowed = [example.expectation.verdicts for example in examples]
    folder = _path(package, "submissions")
    if not any(Verdict.ACCEPTED not in verdicts for verdicts in allowed):
        findings.append(Finding.of(FindingCode.NO_WRONG_SUBMISSION, file=folder))
    if not any(verdicts == {Verdict.ACCEPTED} for verdicts in allowed):
        findings.append(Finding.of(FindingCode.NO_ACCEPTED_SUBMISSION, file=folder))
    return findings


def _header(example: Example, manifest: Manifest, sentences: dict[str, str] | None) -> Iterator[Finding]:
    file, name, expected = example.file, example.name, example.expectation
    known = {category.name for category in manifest.categories}
    for category in sorted((expected.fails or frozenset()) - known):
        yield Finding.of(FindingCode.HEADER_UNKNOWN_CATEGORY, file=file, line=1, submission=name, category=category)
    mistake = expected.misconception
    if mistake is not None and sentences is not None and f"misconception.{mistake}.title" not in sentences:
        code = FindingCode.HEADER_UNKNOWN_MISCONCEPTION
        yield Finding.of(code, file=file, line=1, submission=name, misconception=mistake)
    size = len(example.source.encode())
    if size > SOURCE_BYTES:
        yield Finding.of(FindingCode.SUBMISSION_TOO_LONG, file=file, submission=name, bytes=size, limit=SOURCE_BYTES)


def _example(package: Package, file: str) -> Example:
    name, source = _name(package, file), package.files[file].decode("utf-8")
    folder, _, rest = name.partition("/")
    if not rest or "/" in rest or folder not in tuple(Verdict):
        raise CorpusError(file, f"it does not lie in submissions/<verdict>/; known are {', '.join(Verdict)}", 1)
    expectation = parse_header(file, source)
    require_folder(file, folder, expectation)
    return Example(name, file, source, expectation)


def _name(package: Package, file: str) -> str:
    return file.removeprefix(_path(package, "submissions/")).removesuffix(".py")

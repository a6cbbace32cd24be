"""The form of a package: each mistake is a finding with its file and line, and a right package has none."""

from __future__ import annotations

import pytest

from graders.form import check_form, examples_of
from graders.package import Package, built_in_drills
from graders.validation import Finding, FindingCode, Severity
from tests.drills import FOLDER, MANIFEST, REFERENCE, changed, new_drill, without

SIGNED_SUM = f"{FOLDER}/submissions/wrong_answer/signed_sum.py"
ENGLISH, CHINESE = f"{FOLDER}/sentences.en.toml", f"{FOLDER}/sentences.zh.toml"
STATEMENT = f"{FOLDER}/statement.zh.md"


def line_in(package: Package, file: str, text: str) -> int:
    return next(n for n, line in enumerate(package.text(file).splitlines(), 1) if text in line)


@pytest.mark.parametrize("slug", built_in_drills())
def test_built_in_drills_are_in_form(slug: str):
    assert [item for item in check_form(Package.from_tree(slug)) if item.severity is Severity.ERROR] == []


def test_a_new_drill_is_in_form():
    assert check_form(new_drill()) == []
    assert len(examples_of(new_drill())) == 13


def only(package: Package, code: FindingCode) -> Finding:
    """The one finding of a package, which has to be of this code."""
    (finding,) = check_form(package)
    assert finding.code is code
    return finding


@pytest.mark.parametrize(
    "name",
    ["cases.py", "misconceptions.py", "performance.py", "starter.py", "statement.en.md", "sentences.zh.toml"],
)
def test_a_missing_file_is_named(name: str):
    assert only(without(new_drill(), f"{FOLDER}/{name}"), FindingCode.FILE_MISSING).file == f"{FOLDER}/{name}"


def test_a_missing_reference_is_named():
    assert only(without(new_drill(), REFERENCE), FindingCode.FILE_MISSING).file == REFERENCE


def test_performance_is_needed_only_where_it_earns_points():
    no_points = changed(new_drill(), MANIFEST, "[performance]\npoints = 20\n", "")
    assert check_form(without(no_points, f"{FOLDER}/performance.py")) == []


def test_another_encoding_is_told_with_its_line():
    package = new_drill()
    files = package.files | {STATEMENT: package.files[STATEMENT].decode().encode("gb18030")}
    found = only(Package(package.slug, files), FindingCode.NOT_UTF8)
    assert (found.file, found.line) == (STATEMENT, 1)


@pytest.mark.parametrize(
    ("old", "new", "code", "params", "line"),
    [
        ("tags =", "tag =", FindingCode.UNKNOWN_KEY_NEAR, {"key": "tag", "near": "tags"}, 3),
        ("tags =", "colour =", FindingCode.UNKNOWN_KEY, {"key": "colour"}, 3),
        ("format = 1", "format = 7", FindingCode.UNSUPPORTED_FORMAT, {"got": "7", "known": "1"}, 1),
        ("[title]", "[title", FindingCode.TOML_SYNTAX, None, 5),
        (
            'slug = "row_shares"',
            'slug = "other"',
            FindingCode.SLUG_MISMATCH,
            {"slug": "other", "folder": "row_shares"},
            2,
        ),
    ],
)
def test_a_mistake_in_drill_toml(old: str, new: str, code: FindingCode, params: dict[str, str] | None, line: int):
    finding = only(changed(new_drill(), MANIFEST, old, new), code)
    assert (finding.file, finding.line) == (MANIFEST, line)
    assert params is None or finding.params == params


def test_a_value_out_of_range_is_named():
    finding = only(changed(new_drill(), MANIFEST, "relative = 2e-5", "relative = 2"), FindingCode.BAD_VALUE)
    assert finding.params["key"] == "tolerance.relative"
    assert finding.line == line_in(new_drill(), "drill.toml", "relative = 2e-5")


def test_a_drill_cannot_take_the_place_of_a_module_of_ours():
    renamed = {
        name.replace("row_shares", "inputs"): data.replace(b'"row_shares"', b'"inputs"')
        for name, data in new_drill().files.items()
    }
    assert only(Package("inputs", renamed), FindingCode.SLUG_RESERVED).params == {"slug": "inputs"}


@pytest.mark.parametrize(
    ("file", "old", "new", "code", "key"),
    [
        (
            CHINESE,
            "[misconception.zero_row]\ntitle",
            "[misconception.zero_row]\nname",
            FindingCode.SENTENCE_MISSING,
            "name",
        ),
        (CHINESE, "{count}", "{counted}", FindingCode.SENTENCE_FIELDS, "evidence"),
        (CHINESE, "请对 tl.abs(x) 求和。", "请对 {tl.abs(x) 求和。", FindingCode.SENTENCE_UNREADABLE, "hint"),
        (CHINESE, "{count}", "{count:zz}", FindingCode.SENTENCE_UNREADABLE, "evidence"),
        (ENGLISH, "{count}", "{count:>999999999}", FindingCode.SENTENCE_UNREADABLE, "evidence"),
        (ENGLISH, "{count}", "{count!r}", FindingCode.SENTENCE_UNREADABLE, "evidence"),
        (ENGLISH, "{count}", "{}", FindingCode.SENTENCE_UNREADABLE, "evidence"),
        (CHINESE, "{count}", "{count[0]}", FindingCode.SENTENCE_UNREADABLE, "evidence"),
        (CHINESE, "[misconception.zero_row]", "[misconception.zero_row", FindingCode.TOML_SYNTAX, None),
    ],
)
def test_a_mistake_in_the_sentences(file: str, old: str, new: str, code: FindingCode, key: str | None):
    findings = [finding for finding in check_form(changed(new_drill(), file, old, new)) if finding.code is code]
    assert findings
    assert findings[0].file in (file, ENGLISH)
    assert key is None or any(str(finding.params["key"]).endswith(key) for finding in findings)


@pytest.mark.parametrize("file", [ENGLISH, CHINESE])
@pytest.mark.parametrize("text", ["", "# later\n"])
def test_a_file_without_sentences_lacks_all_of_them(file: str, text: str):
    package = new_drill()
    findings = check_form(Package(package.slug, package.files | {file: text.encode()}))
    lacking = {finding.params["key"] for finding in findings if finding.code is FindingCode.SENTENCE_MISSING}
    assert {"misconception.zero_row.title", "misconception.zero_row.hint"} <= lacking
    assert {finding.file for finding in findings if finding.code is FindingCode.SENTENCE_MISSING} == {file}


@pytest.mark.parametrize("file", [MANIFEST, ENGLISH, CHINESE])
@pytest.mark.parametrize(
    "text",
    [
        f"x = {'[' * 50_000}",
        f"x = {'9' * 6000}",
        f"x = 0x{'f' * 6000}",
        f"{'a.' * 5000}b = 'text'",
        f"x = [{{ {'a.' * 5000}b = 1 }}]",
    ],
    ids=lambda text: text[:12],
)
def test_what_no_reader_can_take_is_told_as_any_mistake(file: str, text: str):
    package = new_drill()
    findings = check_form(Package(package.slug, package.files | {file: text.encode()}))
    assert file in {finding.file for finding in findings if finding.severity is Severity.ERROR}
    assert all(len(str(value)) < 1000 for finding in findings for value in finding.params.values())


def test_a_sentence_is_text():
    changed_hint = changed(new_drill(), ENGLISH, 'hint = "Negative', 'hint = 7 # "Negative')
    found = next(item for item in check_form(changed_hint) if item.code is FindingCode.TOML_SYNTAX)
    assert found.params == {"reason": "misconception.signed_sum.hint is no text"}


def test_a_long_header_is_read_at_once():
    """In one pass: a search that begins anew at each space would take hours."""
    line = f"# fails: basic{' ' * 1_000_000}x\n"
    findings = check_form(changed(new_drill(), SIGNED_SUM, "# expect", f"{line}# expect"))
    assert [item.code for item in findings if item.file == SIGNED_SUM]


def test_a_sentence_of_the_judges_is_not_the_drills_to_say():
    package = new_drill()
    taken = b'\n[verdict]\naccepted = "mine"\n'
    files = package.files | {name: package.files[name] + taken for name in (ENGLISH, CHINESE)}
    assert only(Package(package.slug, files), FindingCode.SENTENCE_TAKEN).params == {"key": "verdict.accepted"}


def test_a_statement_names_every_category():
    finding = only(changed(new_drill(), STATEMENT, "各种行长，", "行长"), FindingCode.STATEMENT_OMITS_CATEGORY)
    assert (finding.file, finding.category) == (STATEMENT, "lengths")


def test_an_empty_statement_is_told():
    package = new_drill()
    files = package.files | {STATEMENT: b" \n"}
    assert only(Package(package.slug, files), FindingCode.STATEMENT_EMPTY).file == STATEMENT


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("# expect: wrong_answer", "# expect: wrong", FindingCode.HEADER_UNREADABLE),
        ("# expect: wrong_answer", "# nothing", FindingCode.HEADER_UNREADABLE),
        ("# expect: wrong_answer", "# expect: time_limit", FindingCode.HEADER_UNREADABLE),
        ("# fails: basic, ", "# fails: basics, ", FindingCode.HEADER_UNKNOWN_CATEGORY),
        ("# misconception: signed_sum", "# misconception: sign", FindingCode.HEADER_UNKNOWN_MISCONCEPTION),
    ],
)
def test_a_mistake_in_a_header(old: str, new: str, code: FindingCode):
    finding = only(changed(new_drill(), SIGNED_SUM, old, new), code)
    assert (finding.file, finding.submission, finding.line) == (SIGNED_SUM, "wrong_answer/signed_sum", 1)


def test_a_submission_outside_the_folders_of_verdicts_is_told():
    package = new_drill()
    stray = f"{FOLDER}/submissions/wrong/signed_sum.py"
    finding = only(
        Package(package.slug, package.files | {stray: package.files[SIGNED_SUM]}), FindingCode.HEADER_UNREADABLE
    )
    assert (finding.file, finding.submission) == (stray, "wrong/signed_sum")


def test_a_submission_that_no_student_could_send_is_told():
    package = new_drill()
    files = package.files | {SIGNED_SUM: package.files[SIGNED_SUM] + b"#" * (64 << 10)}
    assert only(Package(package.slug, files), FindingCode.SUBMISSION_TOO_LONG).params["limit"] == 64 << 10


def test_a_drill_without_submissions_shows_nothing():
    package = new_drill()
    files = {name: data for name, data in package.files.items() if "/submissions/" not in name}
    codes = [finding.code for finding in check_form(Package(package.slug, files))]
    assert codes == [FindingCode.NO_WRONG_SUBMISSION, FindingCode.NO_ACCEPTED_SUBMISSION]

"""Uploads that are broken, lying or meant to harm: each is refused with a problem that says why, and leaves nothing."""

from __future__ import annotations

import random
import resource
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.access.principals import Role
from app.store.models import Drill, DrillVersion, Validation
from graders.archive import MOST_FILES, UNPACKED_BYTES
from graders.limits import PACKAGE_BYTES
from tests.api.conftest import resources_of
from tests.uploads import Entry, entries_of, form, raw_zip, toy_upload

SignUp = Callable[..., dict[str, str]]

FOLDER = "graders/copy"
TOML = f"{FOLDER}/drill.toml"


@pytest.fixture
def database_kind() -> str:
    """What is refused reaches no database."""
    return "sqlite"


def with_entry(name: str | zipfile.ZipInfo, content: str | bytes = "x") -> bytes:
    return raw_zip([*entries_of(toy_upload()), (name, content)])


def special(name: str, kind: int) -> zipfile.ZipInfo:
    """An entry that is no plain file: a link, a device, a pipe."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3  # Unix
    info.external_attr = (kind | 0o777) << 16
    return info


def packed(changed: dict[str, str | bytes] | None = None, *, without: str = "") -> bytes:
    return toy_upload(changed=changed, without=without).to_zip()


def toml(old: str, new: str) -> bytes:
    """The toy drill with one change in its drill.toml, which has to be there."""
    text = toy_upload().text("drill.toml")
    assert old in text
    return packed({"drill.toml": text.replace(old, new, 1)})


def with_method(method: int) -> bytes:
    return raw_zip(entries_of(toy_upload()), method)


def with_flag(flag: int) -> bytes:
    """Every entry marked as encrypted, in the directory and at the entry."""
    data = bytearray(packed())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= flag
            at = data.find(signature, at + 4)
    return bytes(data)


def lying(mebibytes: int) -> bytes:
    """An entry that unpacks to much more than it says."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = b"".join(compressor.compress(bytes(1 << 20)) for _ in range(mebibytes)) + compressor.flush()
    data = bytearray(raw_zip([*entries_of(toy_upload()), (zipfile.ZipInfo(f"{FOLDER}/big.bin"), content)]))
    for signature, method, sizes, name in ((b"PK\x03\x04", 8, 18, 30), (b"PK\x01\x02", 10, 20, 46)):
        at = data.find(signature)
        while data[at + name : at + name + len(f"{FOLDER}/big.bin")] != f"{FOLDER}/big.bin".encode():
            at = data.find(signature, at + 4)
        data[at + method : at + method + 2] = struct.pack("<H", zipfile.ZIP_DEFLATED)
        data[at + sizes : at + sizes + 8] = struct.pack("<II", len(content), 10)
    return bytes(data)


def noise(size: int) -> bytes:
    return random.Random(0).randbytes(size)


def big(sizes: list[int]) -> bytes:
    entries: list[Entry] = [(f"{FOLDER}/{number}.bin", bytes(size)) for number, size in enumerate(sizes)]
    return raw_zip([*entries_of(toy_upload()), *entries])


def endless() -> str:
    """A drill.toml with more mistakes than anybody can be told."""
    return "\n".join(f"k{number} = 1" for number in range(100_000))


Hostile = tuple[Callable[[], bytes], int, str, str]
"""How it is made, and the status, the code of the first finding, and what its sentence has to name."""

HOSTILE: dict[str, Hostile] = {
    # no zip, or not one that can be read
    "nothing": (lambda: b"", 422, "package_unreadable", "zip"),
    "no zip": (lambda: b"def toy(x, out): ...\n", 422, "package_unreadable", "zip"),
    "cut short": (lambda: packed()[:-40], 422, "package_unreadable", ""),
    "torn": (lambda: packed()[:100] + packed()[200:], 422, "package_unreadable", ""),
    "empty zip": (lambda: raw_zip([]), 422, "package_no_drill", ""),
    "encrypted": (lambda: with_flag(1), 422, "package_unreadable", "encrypted"),
    "bzip2": (lambda: with_method(zipfile.ZIP_BZIP2), 422, "package_unreadable", "deflate"),
    "lzma": (lambda: with_method(zipfile.ZIP_LZMA), 422, "package_unreadable", "deflate"),
    # too much
    "larger than allowed": (lambda: with_entry(f"{FOLDER}/n.bin", noise(PACKAGE_BYTES)), 413, "package_too_large", "8"),
    "bomb by ratio": (lambda: big([UNPACKED_BYTES + 1]), 413, "package_too_large", "32"),
    "bomb by many": (lambda: big([UNPACKED_BYTES // 40] * 41), 413, "package_too_large", "32"),
    "bomb that lies": (lambda: lying(600), 422, "package_unreadable", "big.bin"),
    "too many files": (lambda: big([0] * MOST_FILES), 413, "package_too_large", ""),
    # names
    "traversal": (lambda: with_entry("graders/../../evil.py"), 422, "package_bad_name", "evil.py"),
    "traversal at the front": (lambda: with_entry("../evil.py"), 422, "package_bad_name", "evil.py"),
    "absolute": (lambda: with_entry("/etc/cron.d/evil"), 422, "package_bad_name", "/etc/cron.d/evil"),
    "a drive": (lambda: with_entry("C:/evil.py"), 422, "package_bad_name", "C:/evil.py"),
    "backslashes": (lambda: with_entry(f"{FOLDER}/..\\..\\evil.py"), 422, "package_bad_name", "evil.py"),
    "unseen characters": (lambda: with_entry(f"{FOLDER}/a\u202eyp.py"), 422, "package_bad_name", ""),
    "another module": (lambda: with_entry("graders/scoring.py"), 422, "package_bad_name", "graders/scoring.py"),
    "another reference": (lambda: with_entry("reference/softmax/__init__.py"), 422, "package_bad_name", "softmax"),
    "outside of both": (lambda: with_entry("worker/judge/__init__.py"), 422, "package_bad_name", "worker/judge"),
    "a name too long": (lambda: with_entry(f"{FOLDER}/{'a' * 300}.py"), 422, "package_unreadable", "too long"),
    "twice": (lambda: with_entry(f"{FOLDER}/cases.py"), 422, "package_unreadable", "twice"),
    "file and folder": (lambda: with_entry(f"{FOLDER}/cases.py/x.py"), 422, "package_unreadable", "and a folder"),
    # what is no plain file
    "link": (lambda: with_entry(special(f"{FOLDER}/l.py", stat.S_IFLNK), "/etc/passwd"), 422, "package_bad_name", "l"),
    "device": (lambda: with_entry(special(f"{FOLDER}/d.py", stat.S_IFCHR)), 422, "package_bad_name", "d.py"),
    "pipe": (lambda: with_entry(special(f"{FOLDER}/p.py", stat.S_IFIFO)), 422, "package_bad_name", "p.py"),
    "archive by its name": (lambda: with_entry(f"{FOLDER}/more.tar.gz"), 422, "package_unreadable", "in the archive"),
    "archive by bytes": (lambda: with_entry(f"{FOLDER}/x.py", packed()), 422, "package_unreadable", "in the archive"),
    # which drill
    "two drills": (lambda: with_entry("graders/other/drill.toml"), 422, "package_several_drills", "other"),
    "a module's name": (lambda: toy_upload("scoring").to_zip(), 422, "slug_reserved", "scoring"),
    "another slug": (lambda: toml('slug = "copy"', 'slug = "other"'), 422, "slug_mismatch", f"{TOML}:3"),
    "a slug like a path": (lambda: toml('slug = "copy"', 'slug = "../x"'), 422, "bad_value", f"{TOML}:3"),
    # what is in the files
    "no TOML": (lambda: toml("[tolerance]", "[tolerance"), 422, "toml_syntax", f"{TOML}:13"),
    "unknown key": (lambda: toml("[tolerance]", "[tolerance]\nrelativ = 1"), 422, "unknown_key_near", f"{TOML}:14"),
    "deep TOML": (lambda: packed({"drill.toml": f"x = {'[' * 50_000}"}), 422, "package_unreadable", "deep"),
    "deep sentences": (
        lambda: packed({"sentences.en.toml": f"x = {'[' * 50_000}"}), 422, "package_unreadable", "deep"
    ),
    "an endless number": (lambda: toml("points = 20", f"points = {'9' * 5000}"), 422, "package_unreadable", ""),
    "too many mistakes": (lambda: packed({"drill.toml": endless()}), 422, "package_unreadable", "too much time"),
    "missing file": (lambda: packed(without="cases.py"), 422, "file_missing", f"{FOLDER}/cases.py"),
    "no UTF-8": (lambda: packed({"statement.zh.md": "好\n统计".encode("gb18030")}), 422, "not_utf8", "zh.md:1"),
    "UTF-16": (lambda: packed({"cases.py": "CASES = ()\n".encode("utf-16")}), 422, "not_utf8", f"{FOLDER}/cases.py:1"),
    "Python with an error": (lambda: packed({"cases.py": "x = 1\ndef f(:\n"}), 422, "python_syntax", "cases.py:2"),
    "Python with a NUL": (lambda: packed({"cases.py": "x = '\0'\n"}), 422, "python_syntax", "cases.py"),
    "deep Python": (lambda: packed({"cases.py": f"x = {'-' * 100_000}1\n"}), 422, "python_syntax", "cases.py"),
    "Python of dots": (lambda: packed({"cases.py": f"x = a{'.b' * 90_000}\n"}), 422, "python_syntax", "cases.py"),
    "a torn reference": (lambda: packed({"reference": "def f(:\n"}), 422, "python_syntax", "reference/copy.py:1"),
    "a submission without header": (
        lambda: packed({"submissions/wrong_answer/a.py": "x = 1\n"}), 422, "header_unreadable", "a.py:1"
    ),
}  # fmt: skip


@pytest.fixture
def instructor(sign_up: SignUp) -> dict[str, str]:
    return sign_up("ines", Role.INSTRUCTOR)


def stored(client: TestClient) -> list[int]:
    with resources_of(client).store.reading() as session:
        return [
            session.scalar(select(func.count()).select_from(table)) or 0 for table in (Drill, DrillVersion, Validation)
        ]


def tree(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if "-wal" not in path.name}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_upload_is_refused_and_leaves_nothing(
    server: TestClient, instructor: dict[str, str], tmp_path: Path, name: str
) -> None:
    make, status, code, named = HOSTILE[name]
    data = make()
    before, files, memory = stored(server), tree(tmp_path), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = server.post("/api/v1/drills", files=form(data), headers=instructor)
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert problem["type"] in ("/problems/package-refused", "/problems/package-too-large", "/problems/body-too-large")
    if "findings" in problem:  # a body beyond every limit is not even read
        first = problem["findings"][0]
        assert first["code"] == code, problem["detail"]
        assert named in problem["detail"]
        assert first["text"]["zh"] != first["text"]["en"]
        assert first["cure"]["en"]
        assert problem["errors"][0]["code"] == code
    assert stored(server) == before
    assert tree(tmp_path) == files
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 300 * 1024  # KiB


def test_enough_uploads_are_tried() -> None:
    assert len(HOSTILE) >= 30


def test_everything_that_is_wrong_is_told_at_once(server: TestClient, instructor: dict[str, str]) -> None:
    text = toy_upload().text("drill.toml").replace("[tolerance]", "[tolerance]\nrelativ = 1")
    data = packed({"drill.toml": text, "misconceptions.py": "def f(:\n"}, without="cases.py")
    problem = server.post("/api/v1/drills", files=form(data), headers=instructor).json()
    assert [finding["code"] for finding in problem["findings"]] == ["file_missing", "unknown_key_near", "python_syntax"]
    assert [(finding["file"], finding["line"]) for finding in problem["findings"]] == [
        (f"{FOLDER}/cases.py", None),
        (TOML, 14),
        (f"{FOLDER}/misconceptions.py", 1),
    ]
    assert "2 more" in problem["detail"]


def test_what_systems_leave_in_a_zip_is_no_harm(server: TestClient, instructor: dict[str, str]) -> None:
    folder = zipfile.ZipInfo("copy-main/graders/")
    inside: list[Entry] = [(f"copy-main/{name}", content) for name, content in toy_upload().files.items()]
    leftovers: list[Entry] = [("copy-main/graders/copy/__pycache__/cases.cpython-311.pyc", "x"), (folder, "")]
    answer = server.post("/api/v1/drills", files=form(raw_zip([*inside, *leftovers])), headers=instructor)
    assert answer.status_code == 202, answer.text
    assert answer.json()["digest"] == toy_upload().digest


def test_only_a_form_with_a_file_is_an_upload(server: TestClient, instructor: dict[str, str]) -> None:
    for sent, status, slug in (
        ({"json": {"file": "x"}}, 415, "unsupported-media-type"),
        ({"content": packed(), "headers": {"Content-Type": "application/zip"}}, 415, "unsupported-media-type"),
        ({"files": {"other": ("a.zip", packed(), "application/zip")}}, 422, "invalid-request"),
        ({"files": {"a": ("a.zip", b""), "file": ("b.zip", b"")}}, 400, "bad-request"),
        ({"data": {"file": "no file"}, "files": {}}, 415, "unsupported-media-type"),
    ):
        headers = {**instructor, **sent.pop("headers", {})}  # type: ignore[attr-defined]
        answer = server.post("/api/v1/drills", headers=headers, **sent)  # type: ignore[arg-type]
        assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{slug}")


def test_larger_bodies_are_taken_for_packages_alone(server: TestClient, instructor: dict[str, str]) -> None:
    body = {"drill": "toy", "source": "x" * 600_000}
    answer = server.post("/api/v1/submissions", json=body, headers=instructor)
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/body-too-large")
    assert server.post("/api/v1/drills", files=form(noise(600_000)), headers=instructor).status_code == 422


def test_who_may_not_upload_is_refused_before_the_body_is_read(server: TestClient, sign_up: SignUp) -> None:
    ada = sign_up("ada")
    assert server.post("/api/v1/drills", content=b"no form", headers=ada).status_code == 403
    assert server.post("/api/v1/drills", content=b"no form").status_code == 401

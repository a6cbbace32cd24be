"""Versions of drills: one path for what comes built in and what is uploaded."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from sqlalchemy import select
from starlette.requests import Request
from starlette.responses import Response

from app.access.cookie import clear_session_cookie, set_session_cookie
from app.access.principals import Role
from app.drills import service as drills
from app.drills import versions
from app.drills.service import SlugTaken
from app.errors import Problem
from app.store.engine import Store
from app.store.models import DrillVersion, VersionState
from app.users.service import create_user
from graders.manifest import ManifestError
from graders.package import Package, built_in_drills
from tests import builders
from tests.statements import recorded
from tests.threads import at_once


def test_the_same_tree_is_the_same_version_and_another_is_the_next(store: Store) -> None:
    with store.transaction() as session:
        numbers = [
            builders.add_drill(session, builders.toy_package(statement=text)).number
            for text in ("first", "first", "second", "first")
        ]
    assert numbers == [1, 1, 2, 3]


def test_a_slug_belongs_to_its_first_owner(store: Store) -> None:
    with store.transaction() as session:
        owner = builders.add_user(session).user_id
        drills.add_version(session, builders.toy_package(), owner_id=owner, state=VersionState.VALID)
        with pytest.raises(SlugTaken):
            drills.add_version(session, builders.toy_package(), owner_id=None, state=VersionState.VALID)


def test_a_list_of_versions_is_one_question_however_many_there_are(store: Store) -> None:
    with store.transaction() as session:
        ines = builders.add_user(session, "ines", Role.INSTRUCTOR)
        for text in ("first", "second", "third"):
            package = builders.toy_package("hers", text)
            drills.add_version(session, package, owner_id=ines.user_id, state=VersionState.VALID)
            offered = builders.add_drill(session, builders.toy_package("ours", text))
        drills.retire(session, offered)
    with store.reading() as session, recorded(store.engine) as statements:
        each = [(item.slug, item.version.number, item.owner) for item in versions.newest_of_each(session, ines)]
        ours = [(item.version.number, item.state, item.current) for item in versions.versions_of(session, ines, "ours")]
        hers = versions.versions_of(session, ines, "hers")
    assert each == [("hers", 3, "ines"), ("ours", 3, None)]
    assert ours == [(3, "retired", False), (2, "published", True), (1, "published", False)]
    assert not any(item.current for item in hers)
    assert len([text for text, _ in statements.sent if text.startswith("SELECT")]) == 3


def test_of_uploads_at_once_each_is_a_version(store: Store) -> None:
    with store.transaction() as session:
        owner = builders.add_user(session).user_id

    def upload(number: int) -> int:
        package = builders.toy_package(statement=f"statement {number // 2}")
        with store.transaction() as session:
            return drills.add_version(session, package, owner_id=owner, state=VersionState.VALID).number

    numbers = at_once(4, upload)
    assert set(numbers) == set(range(1, len(set(numbers)) + 1))
    with store.reading() as session:
        kept = session.scalars(select(DrillVersion).order_by(DrillVersion.number)).all()
        assert [version.number for version in kept] == sorted(set(numbers))
        assert all(earlier.digest != later.digest for earlier, later in pairwise(kept))


def test_of_users_who_take_a_name_at_once_one_has_it(store: Store) -> None:
    def take(_number: int) -> bool:
        with suppress(Problem), store.transaction() as session:
            create_user(session, "ada", Role.STUDENT)
            return True
        return False

    assert sorted(at_once(4, take)) == [False, False, False, True]


def test_only_a_valid_version_is_published(store: Store) -> None:
    with store.transaction() as session:
        version = drills.add_version(session, builders.toy_package(), owner_id=None, state=VersionState.INVALID)
        with pytest.raises(Problem, match="is invalid"):
            drills.publish(session, version)
        assert drills.published(session, "toy") is None


def test_retiring_brings_the_earlier_version_back_and_publishing_again_the_later(store: Store) -> None:
    def current() -> int | None:
        version = drills.published(session, "toy")
        return version.number if version else None

    with store.transaction() as session:
        first = builders.add_drill(session)
        second = builders.add_drill(session, builders.toy_package(statement="second"))
        drills.retire(session, second)
        assert (current(), second.retired_at is not None) == (1, True)
        drills.retire(session, first)
        assert current() is None
        with pytest.raises(Problem, match="is retired"):
            drills.retire(session, first)
        drills.publish(session, second)
        assert (current(), second.retired_at) == (2, None)


def test_a_built_in_drill_that_was_retired_stays_retired(store: Store) -> None:
    with store.transaction() as session:
        drills.load_built_in(session)
        slug = built_in_drills()[0]
        version = drills.published(session, slug)
        assert version is not None
        drills.retire(session, version)
    with store.transaction() as session:
        drills.load_built_in(session)
        assert drills.published(session, slug) is None


@pytest.mark.parametrize("retired", [False, True])
def test_a_new_version_of_a_built_in_drill_is_offered_where_the_drill_was(
    retired: bool, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = built_in_drills()[0]
    with store.transaction() as session:
        drills.load_built_in(session)
        first = drills.published(session, slug)
        assert first is not None
        if retired:
            drills.retire(session, first)
    tree = Package.from_tree(slug)
    changed = Package(slug, tree.files | {f"graders/{slug}/statement.en.md": b"Another one."})
    monkeypatch.setattr(drills, "built_in_drills", lambda: [slug])
    monkeypatch.setattr(Package, "from_tree", lambda _: changed)
    for _ in range(2):  # at this start and the next
        with store.transaction() as session:
            drills.load_built_in(session)
    with store.reading() as session:
        kept = session.scalars(select(DrillVersion).where(DrillVersion.drill.has(slug=slug)).order_by("number")).all()
        states = [version.state for version in kept]
    assert states == (["retired", "valid"] if retired else ["published", "published"])


@pytest.mark.parametrize(("name", "value"), [("digest", "0" * 64), ("package", b"other"), ("number", 7)])
def test_what_a_version_holds_never_changes(store: Store, name: str, value: object) -> None:
    with store.transaction() as session:
        version = builders.add_drill(session)
        setattr(version, name, value)
        with pytest.raises(ValueError, match=f"the {name} of a drill version cannot change"):
            session.flush()
        session.rollback()


def test_a_manifest_must_fit_its_folder(store: Store) -> None:
    toy = builders.toy_package("toy")
    moved = {name.replace("graders/toy/", "graders/other/"): data for name, data in toy.files.items()}
    with store.transaction() as session, pytest.raises(ManifestError, match="slug"):
        drills.add_version(session, Package("other", moved), owner_id=None, state=VersionState.VALID)


def test_built_in_drills_are_published_once(store: Store) -> None:
    for _ in range(2):
        with store.transaction() as session:
            drills.load_built_in(session)
    with store.reading() as session:
        versions = session.scalars(select(DrillVersion)).all()
        assert [version.state for version in versions] == ["published"] * len(built_in_drills())


def test_an_uploaded_drill_hides_a_built_in_one(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    slug = built_in_drills()[0]
    with store.transaction() as session:
        owner = builders.add_user(session).user_id
        drills.add_version(session, builders.toy_package(slug), owner_id=owner, state=VersionState.VALID)
        drills.load_built_in(session)
    assert "hidden by an uploaded one" in caplog.text


def test_a_version_keeps_its_package_and_speaks_with_its_sentences(store: Store) -> None:
    package = builders.toy_package()
    package.files["graders/toy/sentences.en.toml"] = b'[toy]\nhint = "Copy all of {what}."\n'
    with store.transaction() as session:
        version = builders.add_drill(session, package)
        assert drills.package_of(session, version) == package
        catalogue = drills.catalogue_of(session, version)
    assert catalogue.render("toy.hint", {"what": "x"}) == "Copy all of x."
    assert catalogue.render("submission.judge_gave_up") != "submission.judge_gave_up"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_session_cookie_is_for_the_browser_alone(scheme: str) -> None:
    request = Request({"type": "http", "scheme": scheme, "headers": [], "path": "/", "server": ("localhost", 80)})
    signed_in, signed_out = Response(), Response()
    set_session_cookie(request, signed_in, "value", days=30)
    clear_session_cookie(signed_out)
    cookie = signed_in.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Max-Age=2592000" in cookie
    assert ("Secure" in cookie) == (scheme == "https")
    assert "Max-Age=0" in signed_out.headers["Set-Cookie"]

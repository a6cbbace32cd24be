"""``warpgrade``: the command line. Judging runs in ``worker``'s own programs, which this process becomes."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from pydantic import ValidationError
from sqlalchemy.orm import Session

from app.access.principals import Role
from app.errors import Problem
from app.serve import CannotServe
from app.serve import serve as run_service
from app.settings import Misconfigured, Settings, read_settings, sentences
from app.setup import NotPrepared, prepare
from app.store.engine import Store
from app.users.schemas import UserOrder
from app.users.service import create_user, replace_token
from graders.manifest import manifest_schema
from graders.starting import CannotStart, write_skeleton

cli = typer.Typer(no_args_is_help=True, add_completion=False, help="A self-hosted autograder for GPU kernels.")
user = typer.Typer(no_args_is_help=True, help="Accounts.")
cli.add_typer(user, name="user")
drill = typer.Typer(no_args_is_help=True, help="Drills.")
cli.add_typer(drill, name="drill")


@cli.command()
def serve() -> None:
    """Serve everything on this machine: pages, REST, the broker and, in local mode, one worker."""
    try:
        raise typer.Exit(run_service(_settings()))
    except CannotServe as error:
        _fail(str(error))


@cli.command()
def migrate() -> None:
    """Bring the database to this version: its schema, the built-in drills, the administrator's token."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    _prepare(_settings())
    print("the database is up to date")


@cli.command()
def worker() -> None:
    """Judge submissions: one worker for this machine's GPU, else for Triton's interpreter."""
    _become("worker.main")


@cli.command()
def grade(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The submission.")],
    drill: Annotated[str, typer.Option("--drill", help="A built-in drill's slug, a folder or a zip.")],
    seed: Annotated[
        str | None, typer.Option(help="Replay the tests that this seed draws, as staff are shown it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Judge one file without a server. Exit code 0 only when it is accepted."""
    replayed = [f"--seed={seed}"] if seed else []
    _become("worker.grade", str(file), f"--drill={drill}", *replayed, *(["--json"] if as_json else []))


@drill.command("new")
def new_drill(
    slug: Annotated[str, typer.Argument(help="The drill's name in addresses: small letters, digits, underscores.")],
    folder: Annotated[Path | None, typer.Option(help="Where to write it; ./SLUG if not given.")] = None,
) -> None:
    """Write a small drill that is complete and valid, to be changed into your own."""
    folder = folder or Path(slug)
    try:
        written = write_skeleton(slug, folder)
    except (CannotStart, OSError) as error:
        _fail(str(error))
    print("\n".join(map(str, written)))
    typer.echo(f"next: warpgrade drill validate {folder}", err=True)


@drill.command("validate")
def validate_drill(
    drill: Annotated[str, typer.Argument(help="A built-in drill's slug, a folder or a zip.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Run a drill's submissions through the judge, without a server. Exit code 0 only when the drill is valid."""
    _become("worker.validation", drill, *(["--json"] if as_json else []))


@drill.command("schema")
def drill_schema() -> None:
    """Print the JSON schema of drill.toml."""
    print(json.dumps(manifest_schema(), indent=2, ensure_ascii=False))


@user.command("add")
def add_user(
    name: Annotated[str, typer.Argument(help="Unique; how the user is shown.")],
    role: Annotated[Role, typer.Option(help="What the user may do.")],
) -> None:
    """Make an account and print its token, which is shown only once."""
    settings = _settings()
    try:
        order = UserOrder(name=name, role=role)
    except ValidationError as error:
        _fail(sentences(error))
    with _accounts(settings) as session:
        _, _, secret = create_user(session, order.name, order.role)
    print(secret)


@user.command("token")
def make_token(
    name: Annotated[str, typer.Argument(help="Whose token it is to be: a user's name or id.")],
    revoke_others: Annotated[
        bool, typer.Option("--revoke-others", help="End all other tokens of the user, and signed-in browsers.")
    ] = False,
) -> None:
    """Make a token for a user who has lost theirs, and print it, which is shown only once."""
    with _accounts(_settings()) as session:
        secret = replace_token(session, name, "from the command line", revoke=revoke_others)
    print(secret)


def main() -> None:
    """The console script."""
    cli()


def _settings() -> Settings:
    """From the environment; what cannot be used ends the program with a line each."""
    try:
        return read_settings()
    except Misconfigured as error:
        _fail(str(error))


def _prepare(settings: Settings) -> None:
    try:
        prepare(settings)
    except NotPrepared as error:
        _fail(str(error))


@contextmanager
def _accounts(settings: Settings) -> Iterator[Session]:
    """A transaction on the prepared database; a problem ends the program with its sentence."""
    _prepare(settings)
    store = Store(settings.database)
    try:
        with store.transaction() as session:
            yield session
    except Problem as problem:
        _fail(problem.detail)
    finally:
        store.close()


def _become(module: str, *arguments: str) -> NoReturn:
    """Replace this process: signals and the exit code are then the module's own."""
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])  # noqa: S606


def _fail(message: str) -> NoReturn:
    typer.echo(f"warpgrade: {message}", err=True)
    raise typer.Exit(1)


if __name__ == "__main__":
    main()

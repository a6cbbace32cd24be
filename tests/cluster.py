"""``python -m tests.cluster COMMAND…``: run a command beside a PostgreSQL server that is thrown away afterwards.

The command finds the server's URL in WARPGRADE_TEST_POSTGRES. The server listens on a socket in a folder of its own,
on no port, and dies with this process. Imports nothing but Python's own.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.processes import wait_until

VARIABLE = "WARPGRADE_TEST_POSTGRES"
_OWNER = "warpgrade"
_QUICK = {  # what is thrown away need not survive anything
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "listen_addresses": "",
    "shared_buffers": "32MB",
}


class Cluster:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        """Make the cluster in ``folder``, which is empty. It orders text as a language does, not by bytes as SQLite
        does: what leans on that shows."""
        self._folder, self._bin = folder, _programs()
        self._server: subprocess.Popen[bytes] | None = None
        options = ["--auth", "trust", "--username", _OWNER, "--encoding", "UTF8", "--no-sync", "--no-instructions"]
        order = ["--locale", "C.UTF-8", "--locale-provider", "icu", "--icu-locale", "en-US"]
        made = subprocess.run(
            self._command("initdb", "--pgdata", str(folder / "data"), *options, *order),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise RuntimeError(f"initdb failed: {made.stderr}")

    @property
    def url(self) -> str:
        return f"postgresql://{_OWNER}@/postgres?host={self._folder}"

    def start(self) -> None:
        settings = [word for name, value in _QUICK.items() for word in ("-c", f"{name}={value}")]
        command = self._command("postgres", "-D", str(self._folder / "data"), "-k", str(self._folder), *settings)
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log)
        ready = [str(self._bin / "pg_isready"), "--quiet", "--host", str(self._folder)]
        wait_until(lambda: subprocess.run(ready, check=False).returncode == 0, f"{self._folder / 'log'}: it starts")

    def stop(self) -> None:
        """At once, as if the machine had died; a cluster that does not run stays as it is."""
        if self._server is not None:
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait()
            self._server = None

    def _command(self, program: str, *arguments: str) -> list[str]:
        """PostgreSQL refuses to run as root."""
        other = ["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"] if os.getuid() == 0 else []
        return ["setpriv", "--pdeathsig", "QUIT", *other, str(self._bin / program), *arguments]


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """A cluster that runs, in a folder that is removed."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))  # not below pytest's folders, which are the user's alone
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
        cluster = Cluster(folder)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder)


def _programs() -> Path:
    """Debian keeps a server's programs apart from PATH, by version."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    found = versions[-1] if versions else shutil.which("initdb")
    if found is None:
        raise RuntimeError("PostgreSQL's server is needed: apt-get install postgresql")
    return Path(found).parent


def _leave(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


def main() -> int:
    """The command's exit code. A server that is given already is used."""
    command = sys.argv[1:]
    if VARIABLE in os.environ:
        return subprocess.run(command, check=False).returncode
    signal.signal(signal.SIGTERM, _leave)
    with running_cluster() as cluster:
        return subprocess.run(command, env=os.environ | {VARIABLE: cluster.url}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

"""``python -m app.probe web|worker``, for health checks: exit code 0 only if the process beside does its work."""

from __future__ import annotations

import sys
import time
import urllib.error
import urllib.request

from app.settings import Misconfigured, Settings, read_settings

_TIMEOUT_S = 4.0


def main() -> int:
    """Look, and print what is wrong."""
    try:
        settings = read_settings()
        wrong = {"web": _wrong_with_web, "worker": _wrong_with_worker}[sys.argv[1]](settings)
    except Misconfigured as error:
        wrong = str(error)
    print(wrong or "well")
    return 1 if wrong else 0


def _wrong_with_web(settings: Settings) -> str:
    url = f"http://127.0.0.1:{settings.port}/ready"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S):
            return ""
    except urllib.error.HTTPError as error:
        return error.read().decode()
    except OSError as error:
        return f"{url}: {error}"


def _wrong_with_worker(settings: Settings) -> str:
    """A worker leaves a sign in the data directory whenever it could say that it lives and takes work."""
    try:
        silent_s = time.time() - settings.worker_sign.stat().st_mtime
    except FileNotFoundError:
        return "this worker has not begun"
    return f"this worker has taken no work for {silent_s:.0f} s" if silent_s > settings.worker_gone_s else ""


if __name__ == "__main__":
    sys.exit(main())

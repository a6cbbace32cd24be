"""The one job of a runner: load a source, then make the calls it is told to."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from worker.protocol.channel import Channel
from worker.runner import loading
from worker.runner.failures import describe
from worker.runner.memory import Mapping, map_arena

Execute = Callable[[Callable[..., Any], dict[str, Any], Mapping], dict[str, Any]]


class Session:
    """Answers the judge's messages until it hangs up.

    ``load`` → ``loaded`` | ``failed``; ``map`` (with the arena's descriptor) → ``mapped``;
    ``call``, ``compile`` and ``finish`` → what ``execute`` makes of them | ``failed``.
    """

    def __init__(self, channel: Channel, scratch: Path, execute: dict[str, Execute]) -> None:
        self._channel = channel
        self._submission = scratch / f"{loading.MODULE}.py"
        self._execute = execute
        self._entry: Callable[..., Any] | None = None
        self._arena: Mapping | None = None

    def serve(self) -> None:
        self._channel.send({"type": "ready"})
        while True:
            message, descriptors = self._channel.receive()
            answer = self._answer(message | {"descriptors": descriptors})
            _flush()
            self._channel.send(answer)

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            if message["type"] == "map":
                self._arena = map_arena(message["descriptors"][0], message["nbytes"], message["device"])
                return {"type": "mapped"}
            if message["type"] == "load":
                return self._load(message)
            return self._execute[message["type"]](self._required_entry(), message, self._required_arena())
        except loading.Refused as refused:
            return {"type": "failed", "failure": refused.failure}
        except BaseException as error:  # a submission may raise anything, SystemExit too
            return {"type": "failed", "failure": describe(error, self._submission)}

    def _load(self, message: dict[str, Any]) -> dict[str, Any]:
        self._entry = loading.load_entry_point(
            message["source"], self._submission, message["name"], message["parameters"]
        )
        return {"type": "loaded"}

    def _required_entry(self) -> Callable[..., Any]:
        if self._entry is None:
            raise RuntimeError("no submission was loaded")
        return self._entry

    def _required_arena(self) -> Mapping:
        if self._arena is None:
            raise RuntimeError("no arena was mapped")
        return self._arena


def function_of(entry: Callable[..., Any], message: dict[str, Any]) -> Callable[..., Any]:
    """What a message wants called: the entry point, or the function of its module that ``function`` names."""
    name = message.get("function")
    return entry if name is None else entry.__globals__[name]


def bound_call(entry: Callable[..., Any], call: dict[str, Any], arena: Mapping) -> Callable[[], Any]:
    """The entry point with its tensors: inputs, then outputs."""
    return partial(entry, *(arena.tensor(view) for view in (*call["inputs"], *call["outs"])))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def scratch_folder() -> Path:
    return Path(os.environ["TMPDIR"])

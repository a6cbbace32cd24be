from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator

import pytest

from worker.judge.messages import Failed, Loaded
from worker.judge.runner_link import OutputExceeded, ProtocolError, RunnerGone, RunnerLink, RunnerTimedOut
from worker.protocol.channel import Channel
from worker.protocol.doorbell import Doorbell


class FakePeer:
    """The far ends of a link: what a runner would hold."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        read_end, self.output = os.pipe()
        self.channel = Channel(theirs, 1 << 16)
        self.link = RunnerLink(1, Channel(ours, 1 << 16), read_end, kept_bytes=8, limit_bytes=64)


@pytest.fixture
def peer() -> Iterator[FakePeer]:
    peer = FakePeer()
    yield peer
    peer.link.close()
    peer.channel.close()
    os.close(peer.output)


def test_an_answer_in_form_is_parsed(peer: FakePeer) -> None:
    peer.channel.send({"type": "loaded"})
    assert peer.link.ask({"type": "load"}, 1) == Loaded(type="loaded")


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "accepted"},
        {"type": "loaded", "verdict": "accepted"},
        {"type": "returned", "launches": -1, "operations": [], "returned": None},
        {"type": "returned", "launches": "1", "operations": [], "returned": None},
        {"type": "returned", "launches": 1, "operations": ["x"] * 1000, "returned": None},
        {"type": "failed", "failure": {"kind": "judge_error"}},
    ],
)
def test_an_answer_out_of_form_is_refused(peer: FakePeer, answer: dict[str, object]) -> None:
    peer.channel.send(answer)
    with pytest.raises(ProtocolError):
        peer.link.ask({"type": "load"}, 1)


def test_silence_ends_at_the_judges_limit(peer: FakePeer) -> None:
    with pytest.raises(RunnerTimedOut):
        peer.link.ask({"type": "load"}, 0.05)


def test_a_closed_socket_is_a_runner_that_went(peer: FakePeer) -> None:
    peer.channel.close()
    with pytest.raises(RunnerGone):
        peer.link.ask({"type": "load"}, 1)


def test_output_is_kept_up_to_the_clip(peer: FakePeer) -> None:
    os.write(peer.output, b"hello, world")
    peer.channel.send({"type": "loaded"})
    peer.link.ask({"type": "load"}, 1)
    assert peer.link.take_output() == "hello, w"
    assert peer.link.take_output() is None


def test_a_flood_of_output_is_cut_off(peer: FakePeer) -> None:
    os.write(peer.output, b"x" * 65)
    with pytest.raises(OutputExceeded):
        peer.link.ask({"type": "load"}, 1)


def test_a_round_is_answered_over_the_doorbell(peer: FakePeer) -> None:
    with contextlib.closing(Doorbell()) as judge, contextlib.closing(Doorbell(os.dup(judge.descriptor))) as runner:

        def serve() -> None:
            runner.wait()
            runner.answer()

        judge.set([0], graphs=False)
        thread = threading.Thread(target=serve)
        thread.start()
        seconds = peer.link.ring(judge, 5)
        thread.join()
        assert isinstance(seconds, float)
        assert 0 < seconds < 5


def test_a_message_in_place_of_the_rounds_answer_is_heard(peer: FakePeer) -> None:
    with contextlib.closing(Doorbell()) as judge:
        judge.set([0], graphs=False)
        peer.channel.send({"type": "failed", "failure": {"kind": "device"}})
        said = peer.link.ring(judge, 5)
        assert isinstance(said, Failed)


def test_a_round_that_is_never_answered_ends_at_the_limit(peer: FakePeer) -> None:
    with contextlib.closing(Doorbell()) as judge:
        judge.set([0], graphs=False)
        with pytest.raises(RunnerTimedOut):
            peer.link.ring(judge, 0.05)


def test_a_runner_that_goes_in_a_round_is_gone(peer: FakePeer) -> None:
    with contextlib.closing(Doorbell()) as judge:
        judge.set([0], graphs=False)
        peer.channel.close()
        with pytest.raises(RunnerGone):
            peer.link.ring(judge, 5)

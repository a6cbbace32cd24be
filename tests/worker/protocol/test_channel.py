from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator

import pytest

from worker.protocol import channel
from worker.protocol.channel import Channel, PeerGone, ProtocolError, from_descriptor

CAP = 4096


Pair = Callable[..., tuple[Channel, socket.socket]]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Makes a channel and the raw socket of its far end."""
    made: list[Channel | socket.socket] = []

    def make(max_descriptors: int = 0) -> tuple[Channel, socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        made.extend((Channel(ours, CAP, max_descriptors), theirs))
        return made[-2], theirs

    yield make
    for end in made:
        end.close()


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + b"\0" + body


def test_a_message_arrives_as_it_was_sent(pair: Pair) -> None:
    channel, theirs = pair()
    Channel(theirs, CAP).send({"type": "hello", "n": [1, None, "ä"]})
    assert channel.receive(1) == ({"type": "hello", "n": [1, None, "ä"]}, [])


def test_messages_that_arrive_together_are_told_apart(pair: Pair) -> None:
    channel, theirs = pair()
    theirs.sendall(framed(b'{"type":"a"}') + framed(b'{"type":"b"}'))
    assert [channel.receive(1)[0]["type"] for _ in range(2)] == ["a", "b"]


def test_a_peer_that_reads_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "SEND_WAIT_S", 1)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs, contextlib.closing(Channel(ours, 1 << 23)) as sender, pytest.raises(PeerGone):
        sender.send({"type": "much", "text": "x" * (1 << 22)})


def test_a_message_in_pieces_is_put_together(pair: Pair) -> None:
    channel, theirs = pair()
    frame = framed(b'{"type":"slow"}')
    theirs.sendall(frame[:7])
    channel.pump()
    assert channel.pop() is None
    theirs.sendall(frame[7:])
    assert channel.receive(1)[0] == {"type": "slow"}


def test_a_descriptor_travels_with_its_message(pair: Pair) -> None:
    channel, theirs = pair(max_descriptors=2)
    sender = Channel(theirs, CAP)
    read_end, write_end = os.pipe()
    sender.send({"type": "plain"})
    sender.send({"type": "with"}, (read_end,))
    assert channel.receive(1) == ({"type": "plain"}, [])
    message, (received,) = channel.receive(1)
    os.write(write_end, b"x")
    assert message == {"type": "with"}
    assert os.read(received, 1) == b"x"
    for descriptor in (received, read_end, write_end):
        os.close(descriptor)


def test_a_descriptor_that_was_not_asked_for_ends_the_channel(pair: Pair) -> None:
    channel, theirs = pair(max_descriptors=0)
    before = len(os.listdir("/proc/self/fd"))
    socket.send_fds(theirs, [framed(b'{"type":"a"}')], [0])
    with pytest.raises(ProtocolError):
        channel.receive(1)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    "sent",
    [
        (CAP + 1).to_bytes(4, "big") + b"\0",
        b"\xff\xff\xff\xff\xff",
        (2).to_bytes(4, "big") + b"\1{}",
        framed(b"not json"),
        framed(b"[1, 2]"),
        framed(b'{"type": 3}'),
        framed(b'{"no": "type"}'),
        framed(b"\xff\xfe"),
        framed(b"[" * 4000),
    ],
)
def test_what_breaks_the_form_is_refused(pair: Pair, sent: bytes) -> None:
    channel, theirs = pair()
    theirs.sendall(sent)
    with pytest.raises(ProtocolError):
        channel.receive(1)


def test_a_silent_peer_times_out_and_a_dead_one_is_gone(pair: Pair) -> None:
    channel, theirs = pair()
    with pytest.raises(TimeoutError):
        channel.receive(0.05)
    theirs.close()
    with pytest.raises(PeerGone):
        channel.receive(1)
    with pytest.raises(PeerGone):
        channel.send({"type": "x", "filler": "y" * 3000})


def test_a_message_over_the_cap_is_not_sent(pair: Pair) -> None:
    channel, theirs = pair()
    with pytest.raises(ValueError, match="cap"):
        channel.send({"type": "x", "filler": "y" * CAP})
    theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)


def test_a_channel_over_an_inherited_descriptor(pair: Pair) -> None:
    channel, theirs = pair()
    inherited = from_descriptor(theirs.detach(), CAP)
    inherited.send({"type": "x"})
    assert channel.receive(1)[0] == {"type": "x"}
    inherited.close()

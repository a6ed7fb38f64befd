"""The channel: what is sent arrives, and nothing else passes for it."""

import math
import os
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from harness.sandbox.channel import Channel
from harness.sandbox.frames import Frame, FrameReader

FLOATS = struct.pack("<3f", 1.0, 2.0, 3.0)


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(theirs.fileno()), ours


def received(ours: socket.socket) -> tuple[list[Frame], FrameReader]:
    reader, frames = FrameReader(), []
    ours.setblocking(False)
    try:
        while chunk := ours.recv(1 << 20):
            frames += reader.feed(chunk)
    except BlockingIOError:
        return frames, reader
    return frames, reader


def test_a_frame_arrives_as_it_was_sent(pair):
    """Kind, data, names, shapes and bytes survive, and the counts agree."""
    channel, ours = pair
    channel.send("step", {"lr": 0.1, "names": ["w"]}, [("w", "float32", (3,), FLOATS)])
    channel.close_record()
    frames, reader = received(ours)

    assert [(frame.seq, frame.kind, frame.data) for frame in frames] == [
        (0, "step", {"lr": 0.1, "names": ["w"]})
    ]
    assert [(t.shape, t.data) for t in frames[0].tensors] == [((3,), FLOATS)]
    assert not reader.finish()


def test_non_finite_numbers_arrive_as_strings(pair):
    """JSON has no NaN, and "not measured" is not NaN."""
    channel, ours = pair
    channel.send("fact", {"all": [math.nan, math.inf, {"deep": -math.inf}, 1.5, None]})
    ((frame,), _) = received(ours)

    assert frame.data == {"all": ["NaN", "Infinity", {"deep": "-Infinity"}, 1.5, None]}


def test_empty_and_scalar_tensors_arrive(pair):
    """A tensor without elements has no bytes, a scalar has no sizes."""
    channel, ours = pair
    empty = memoryview(b"").cast("B")
    channel.send("fact", {}, [("e", "float32", (0, 4), empty), ("s", "bool", (), b"\x01")])
    ((frame,), _) = received(ours)

    assert [(t.name, t.shape, t.data) for t in frame.tensors] == [
        ("e", (0, 4), b""),
        ("s", (), b"\x01"),
    ]


def test_many_and_multidimensional_buffers_leave_in_one_frame(pair):
    """More buffers than one system call takes are no more than one frame."""
    channel, ours = pair
    square = memoryview(bytes(range(16))).cast("B", (4, 4))
    blobs = [(f"p{index}", "uint8", (4, 4), square) for index in range(2000)]
    sender = threading.Thread(target=channel.send, args=("many", {}, blobs))
    sender.start()
    reader, frames = FrameReader(), []
    while not frames:
        frames += reader.feed(ours.recv(1 << 16))
    sender.join()

    assert len(frames[0].tensors) == 2000
    assert {t.data for t in frames[0].tensors} == {bytes(range(16))}


def test_threads_do_not_mix_their_frames(pair):
    """Eight threads at once: every frame is whole, and has left when its send returns."""
    channel, ours = pair
    body = bytes(4096)

    early = []

    def send(thread: int) -> None:
        for _ in range(50):
            before = channel.count
            channel.send("fact", {"thread": thread}, [("b", "uint8", (4096,), body)])
            early.append(channel.count == before)

    threads = [threading.Thread(target=send, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    reader, frames = FrameReader(), []
    while len(frames) < 400:
        frames += reader.feed(ours.recv(1 << 16))
    for thread in threads:
        thread.join()

    assert [frame.seq for frame in frames] == list(range(400))
    assert not any(early)


class TalkativeShape(tuple):
    """A shape that sends while it is being read."""

    __slots__ = ()

    def __new__(cls, channel: Channel):
        cls.channel = channel
        return super().__new__(cls, (4,))

    def __iter__(self):
        self.channel.send("nested", {}, [("n", "uint8", (1,), b"n")])
        return super().__iter__()


def test_a_send_in_the_middle_of_a_send_waits_its_turn(pair):
    """A finaliser may print at any moment; its frame follows the one that it interrupted."""
    channel, ours = pair
    channel.send("outer", {}, [("b", "uint8", TalkativeShape(channel), b"abcd")])
    frames, _ = received(ours)

    assert [(frame.seq, frame.kind) for frame in frames] == [(0, "outer"), (1, "nested")]


def test_closed_books_take_no_more(pair):
    """A thread that a program left behind cannot spoil a complete recording."""
    channel, ours = pair
    channel.send("fact", {})
    channel.close_record()
    channel.send("late", {})
    frames, reader = received(ours)

    assert [frame.kind for frame in frames] == ["fact"]
    assert not reader.finish()


def test_a_reader_that_is_gone_is_an_os_error():
    """The child learns that it was cut off; it does not hang."""
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs, pytest.raises(OSError, match=r"pipe|reset"):
        Channel(theirs.fileno()).send("fact", {})


def test_what_was_sent_cannot_be_read_back():
    """A pipe opens again through /proc/self/fd and gives away what it holds; a socket does not."""
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    os.write(write, b"said")
    again = os.open(f"/proc/self/fd/{write}", os.O_RDONLY)
    unsaid = os.read(again, 4)
    for fd in (read, write, again):
        os.close(fd)

    assert unsaid == b"said"
    with ours, theirs, pytest.raises(OSError, match="No such device"):
        os.open(f"/proc/self/fd/{theirs.fileno()}", os.O_RDONLY)

"""Reading frames: whatever the bytes are, out come frames or one sentence."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.sandbox.frames import ChannelLimits, Frame, FrameReader

FLOATS = struct.pack("<3f", 1.0, 2.0, 3.0)


def raw_frame(header: object, payload: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">IQ", len(text), len(payload)) + text + payload


def plain(seq: int, kind: str = "fact", **data: object) -> bytes:
    return raw_frame({"seq": seq, "kind": kind, "data": data, "tensors": []})


def one_tensor(**changes: object) -> bytes:
    tensor = {"name": "w", "dtype": "float32", "shape": [3], "nbytes": 12, **changes}
    return raw_frame({"seq": 0, "kind": "fact", "data": {}, "tensors": [tensor]}, FLOATS)


def flaw(stream: bytes, limits: ChannelLimits | None = None) -> str:
    reader = FrameReader(limits)
    reader.feed(stream)
    return reader.finish()


def test_books_that_were_never_closed_are_incomplete():
    """Leaving early is not finishing."""
    assert flaw(plain(0)) == "The recording was never closed: it ended after 1 frames."


def test_a_truncated_frame_is_reported_and_earlier_ones_are_kept():
    """What arrived whole stays."""
    reader = FrameReader()
    frames = reader.feed(plain(0) + plain(1)[:-3])

    assert [frame.seq for frame in frames] == [0]
    assert reader.finish()
    assert "broke off" in reader.finish()


@pytest.mark.parametrize(
    ("stream", "sentence"),
    [
        (plain(1), "another number"),
        (plain(0) + plain(0), "another number"),
        (plain(True), "another number"),
        (plain(0, "closed", count=3), "another count"),
        (plain(0, "closed"), "another count"),
        (plain(0, "closed", count=0) + plain(1), "after the recording was closed"),
        (raw_frame(b"\xff\xfe{}"), "not JSON"),
        (raw_frame(b"[" * 100_000), "not JSON"),
        (raw_frame(b'{"seq": 0, "kind": "x", "data": {"a": NaN}, "tensors": []}'), "not JSON"),
        (raw_frame({"seq": 0}), "lacks a field"),
        (raw_frame([]), "lacks a field"),
        (raw_frame({"seq": 0, "kind": "x", "data": {}, "tensors": [1]}), "not described"),
        (raw_frame({"seq": 0, "kind": "x", "data": {}, "tensors": []}, b"x"), "do not add up"),
        (one_tensor(shape=[4]), "not as long as its shape"),
        (one_tensor(shape=[-3]), "impossible"),
        (one_tensor(shape=[1.5]), "impossible"),
        (one_tensor(dtype="object"), "impossible"),
        (one_tensor(nbytes=True), "not as long as its shape"),
        (struct.pack(">IQ", 2**32 - 1, 2**63), "too long"),
    ],
)
def test_what_no_channel_sends_is_told_in_one_sentence(stream, sentence):
    """Wrong numbers, counts, types, lengths and encodings are each named."""
    assert sentence in flaw(stream)


def test_a_sound_tensor_is_accepted():
    """The table above fails for its own reasons."""
    assert len(FrameReader().feed(one_tensor())) == 1


def test_reading_stops_at_the_limit():
    """A flood is cut, and what came before it is kept."""
    limits = ChannelLimits(total_bytes=1000)
    reader, frames = FrameReader(limits), []
    for seq in range(100):
        frames += reader.feed(plain(seq))

    assert reader.finish() == "More than 1000 bytes were sent."
    assert 0 < len(frames) < 30


def test_text_that_cannot_be_encoded_is_mended():
    """A lone surrogate would make every later writer of the recording fail."""
    frame = raw_frame(
        b'{"seq": 0, "kind": "x", "data": {"t": "a\\ud800b \\ud83d\\ude00"}, "tensors": []}'
    )
    (read,) = FrameReader().feed(frame)

    assert read.data == {"t": "a?b \U0001f600"}


@given(st.lists(st.binary(max_size=64)))
def test_arbitrary_bytes_never_raise(chunks):
    """Whatever arrives, in whatever pieces, ends in a sentence."""
    reader = FrameReader()
    for chunk in chunks:
        reader.feed(chunk)

    assert reader.finish()
    assert reader.finish()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
HEADERS = st.fixed_dictionaries(
    {
        "seq": st.just(0) | JSON,
        "kind": st.just("closed") | JSON,
        "data": st.just({"count": 0}) | JSON,
        "tensors": st.lists(
            st.fixed_dictionaries(
                {
                    "name": JSON,
                    "dtype": st.sampled_from(["float32", "bool"]) | JSON,
                    "shape": st.lists(st.integers()) | JSON,
                    "nbytes": st.integers() | JSON,
                }
            ),
            max_size=2,
        )
        | JSON,
    }
)


@given(HEADERS, st.binary(max_size=8))
def test_arbitrary_headers_never_raise(header, payload):
    """Well-formed lengths around any JSON: a frame or a sentence, never an exception."""
    reader = FrameReader()
    frames = reader.feed(raw_frame(header, payload))

    assert all(type(frame) is Frame for frame in frames)
    assert isinstance(reader.finish(), str)


@given(st.integers(1, 7))
def test_pieces_do_not_matter(size):
    """The same frames come out however the stream is cut."""
    stream = one_tensor() + plain(1) + plain(2, "closed", count=2)
    reader, frames = FrameReader(), []
    for start in range(0, len(stream), size):
        frames += reader.feed(stream[start : start + size])

    assert [frame.seq for frame in frames] == [0, 1]
    assert not reader.finish()


def described(seq: int, **changes: object) -> bytes:
    tensor = {"name": "w", "dtype": "float32", "shape": [3], "nbytes": 12, **changes}
    return raw_frame({"seq": seq, "kind": "fact", "data": {}, "tensors": [tensor]}, FLOATS)


def test_a_tensor_that_comes_again_is_described_by_the_same_object():
    """Hundreds of gradients in a run have the few descriptions of its parameters."""
    first, second = FrameReader().feed(described(0) + described(1))

    assert first.tensors.described[0] is second.tensors.described[0]


@pytest.mark.parametrize(
    "changes",
    [{"nbytes": 8}, {"shape": [4]}, {"shape": [[3]]}, {"shape": "3"}, {"shape": 3}, {"dtype": None},
     {"dtype": ["float32"]}, {"name": {}}],
)  # fmt: skip
def test_a_tensor_that_was_described_well_once_is_not_believed_under_another_description(changes):
    """What was checked is the whole description."""
    reader = FrameReader()
    frames = reader.feed(described(0) + described(1, **changes))

    assert [frame.seq for frame in frames] == [0]
    assert "tensor of frame 1" in reader.finish()

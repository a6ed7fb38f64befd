"""Streams that a program wrote in place of its recorder: whatever they hold, from their bytes to the
grade they are inconclusive or wrong with one sentence, and what is measured after them is as before.
"""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from harness.domain.candidate import Candidate
from harness.domain.grade import Grade, write_grade
from harness.domain.recording import Recording
from harness.domain.trace import ProbeTrace, Trace
from harness.oracle import worker
from harness.oracle.measure import measure
from harness.properties import judge
from harness.sandbox.executor import recording_of
from harness.sandbox.frames import LENGTHS, ChannelLimits, FrameReader
from harness.sandbox.raw_recording import RawRank, RawRecording
from tests.quality.judging import SCENARIOS

CLIP = SCENARIOS["clip-after-step"]
WORKLOADS = {probe.name: CLIP.workload_of(probe, 0) for probe in CLIP.probes}
HUGE = 10**4000

Frames = list[list[Any]]
"""Kind, facts and tensors (name, type, sizes, bytes) of each frame."""


@pytest.fixture(scope="module")
def honest(executor) -> list[Recording]:
    """What a right program did in each probe."""
    candidate = Candidate(program=CLIP.reference, origin="test")
    return [executor.execute(candidate, WORKLOADS[p.name], p) for p in CLIP.probes]


def frames_of(recording: Recording) -> Frames:
    return [
        [i.event.kind, i.event.model_dump(mode="json", exclude={"kind"}), [tuple(t) for t in i.tensors]]
        for i in recording.ranks[0].events
    ]  # fmt: skip


def as_sent(frames: Frames, count: int | None = None) -> bytes:
    """The bytes of a stream, closed at its end."""
    sent = b""
    closed = ["closed", {"count": len(frames) if count is None else count}, []]
    for seq, (kind, data, tensors) in enumerate([*frames, closed]):
        names = ("name", "dtype", "shape", "nbytes")
        described = [dict(zip(names, (n, d, [*s], len(b)), strict=True)) for n, d, s, b in tensors]
        fields = {"seq": seq, "kind": kind, "data": data, "tensors": described}
        header, payload = json.dumps(fields).encode(), b"".join(t[3] for t in tensors)
        sent += LENGTHS.pack(len(header), len(payload)) + header + payload
    return sent


def received(probe: str, sent: bytes, limits: ChannelLimits | None = None) -> Recording:
    reader = FrameReader(limits)
    frames = tuple(reader.feed(sent))
    flaw = reader.finish()
    rank = RawRank(
        rank=0, frames=frames, complete=not flaw, flaw=flaw, exit_code=0, signal=None, jail=None,
        fault="",
    )  # fmt: skip
    found = RawRecording(
        ranks=(rank,), wall_seconds=1.0, cpu_seconds=1.0, wall_limit_seconds=10.0,
        cpu_limit_seconds=20.0, timed_out=False,
    )  # fmt: skip
    return recording_of(probe, found, WORKLOADS[probe])


def graded(recordings: list[Recording]) -> Grade:
    """The grade, once the questions and the answers went from one process to another."""
    measured = []
    for recording, probe in zip(recordings, CLIP.probes, strict=True):
        question = worker.OracleQuestion(recording, WORKLOADS[probe.name], probe, CLIP.expectations)
        answer = worker.answer_to(measure, pickle.loads(pickle.dumps(question)))
        assert isinstance(answer, bytes), answer
        measured.append(ProbeTrace.model_validate_json(answer))
    trace = Trace(probes=tuple(measured))
    return write_grade(CLIP, "test", judge(trace, CLIP), trace=trace, seconds=1.0)


def forged(
    honest: list[Recording],
    forge: Callable[[Frames], None],
    limits: ChannelLimits | None = None,
    count: int | None = None,
) -> list[Recording]:
    """What arrives where each of these recordings was changed before it was sent."""
    found = []
    for recording in honest:
        frames = copy.deepcopy(frames_of(recording))
        forge(frames)
        found.append(received(recording.probe, as_sent(frames, count), limits))
    return found


def set_in(kind: str, **facts: Any) -> Callable[[Frames], None]:
    """Other facts in each frame of a kind."""

    def forge(frames: Frames) -> None:
        for frame in frames:
            if frame[0] == kind:
                frame[1] |= facts

    return forge


def of_type(kind: str, dtype: str, size: int) -> Callable[[Frames], None]:
    """Another type of numbers in each tensor of a kind."""

    def forge(frames: Frames) -> None:
        for frame in frames:
            if frame[0] == kind:
                frame[2] = [
                    (n, dtype, s, b"\1" * size * int(np.prod(s))) for n, _, s, _ in frame[2]
                ]

    return forge


def put_in(place: int, kind: str, facts: Any, *tensors: Any) -> Callable[[Frames], None]:
    """One more frame at a place."""
    return lambda frames: frames.insert(place, [kind, facts, [*tensors]])


def groups_with(**facts: Any) -> Callable[[Frames], None]:
    """Other facts in each group of each step."""

    def forge(frames: Frames) -> None:
        for kind, data, _ in frames:
            if kind == "optimizer_step":
                data["groups"] = [group | facts for group in data["groups"]]

    return forge


def tensors_by(change: Callable[[Any], Any]) -> Callable[[Frames], None]:
    """Each tensor of each frame changed."""

    def forge(frames: Frames) -> None:
        for frame in frames:
            frame[2] = [change(tensor) for tensor in frame[2]]

    return forge


def deep(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def reordered(*order: int) -> Callable[[Frames], None]:
    """Frames taken from places and put at the end, one after the other."""

    def forge(frames: Frames) -> None:
        for place in order:
            frames.append(frames.pop(place))

    return forge


FORGED: dict[str, Callable[[Frames], None]] = {
    "gradients of a type that numpy lacks": of_type("optimizer_step", "float8_e4m3fn", 1),
    "flows of a complex type of half precision": of_type("output_gradient", "complex32", 4),
    "parameters of a brain float": of_type("start", "bfloat16", 2),
    "an input of complex numbers": of_type("forward", "complex64", 8),
    "an input of truth values": of_type("forward", "bool", 1),
    "samples that are whole tensors": set_in("start", sampled=True),
    "samples from the middle on": set_in("forward", sampled=True),
    "a second start that takes back the first": put_in(
        5, "start", {"torch_version": "2", "sampled": True}
    ),
    "a start at the end": reordered(0),
    "a batch of a number without end": set_in("batch", epoch=HUGE, index=HUGE),
    "a batch before the first": set_in("batch", index=-1),
    "an output without end": set_in("output_gradient", output=HUGE),
    "a forward that was not": set_in("forward", id=10**9),
    "counts of steps below none": set_in("optimizer_step", closures=-5),
    "a clip of more gradients than there are": set_in("clip", parameters=HUGE),
    "an exchange of all bytes that are": put_in(
        3, "collective",
        {"operation": "allreduce_", "elements": HUGE, "floating": True, "size_bytes": HUGE},
    ),
    "a schedule that goes back for ever": put_in(
        9, "scheduler_step", {"learning_rates": ["NaN"], "positions": -HUGE}
    ),
    "a message of megabytes": set_in(
        "finished", outcome="raised", exception="E" * 10**6, message="m" * 10**6
    ),
    "more notes than there are lines": set_in("start", notes=["n"] * 300_000),
    "a parameter whose name is a book": tensors_by(lambda t: (t[0] * 2000, *t[1:])),
    "names of parameters that are books": groups_with(parameters=["\u202e" * 10**5]),
    "facts nested out of sight": put_in(1, "noted", {"name": "x", "facts": {"a": deep(400)}}),
    "sizes turned round": tensors_by(lambda t: (*t[:2], (*reversed(t[2]), 1), t[3])),
    "dimensions beyond those of numpy": tensors_by(
        lambda t: (*t[:2], (*[1] * (64 - len(t[2])), *t[2]), t[3])
    ),
    "no numbers at all": lambda frames: [frame[2].clear() for frame in frames] and None,
    "a tensor of no rows and endless columns": put_in(
        2, "forward",
        {"id": 0, "model": "model", "training": True, "differentiable": True, "autocast": None},
        ("input:0", "float32", (0, 1 << 47), b""), ("output:0", "float32", (1 << 47, 0), b""),
    ),
    "rates beyond floats": groups_with(numbers={"lr": HUGE}),
    "a step of infinite rates": groups_with(numbers={"lr": "-Infinity"}),
    "a step of a model that nobody called": set_in("forward", model="__class__"),
    "two ends that contradict each other": put_in(
        50, "finished", {"outcome": "raised", "message": "x", "line": 10**100}
    ),
    "a test that held without end": put_in(
        49, "tested",
        {"name": "t", "run": "answer", "outcome": "passed", "message": "", "line": None,
         "assertions": HUGE},
    ),
    "losses counted twice below none": set_in("finished", counted_twice=-1, unscaled=-1),
    "a kind of event that is none": put_in(2, "__init__", {}),
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("case", FORGED)
def test_a_forged_stream_is_not_right_and_told_in_one_sentence(case, honest):
    grade = graded(forged(honest, FORGED[case]))

    assert grade.code in ("wrong", "inconclusive")
    assert all(0 < len(v.sentence) < 2000 for v in grade.verdicts)
    assert len(grade.model_dump_json()) < 50_000
    assert graded(forged(honest, list)).code == "right"


def test_a_stream_of_more_records_than_any_run_has_is_cut(honest):
    """Each takes several times as much here as was sent."""

    def chatter(frames: Frames) -> None:
        frames += [["clock", {"clock": "time"}, []]] * 100

    cut = forged(honest, chatter, ChannelLimits(frames=60))

    assert cut[0].problem == "More than 60 records were sent."
    assert graded(cut).code == "inconclusive"


def test_a_stream_that_is_closed_at_another_count_is_not_believed(honest):
    assert graded(forged(honest, list, count=7)).code == "inconclusive"

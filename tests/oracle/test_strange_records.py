"""Records that a program may have rewritten in its own process: a sentence, and no fault of ours."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.domain.candidate import Candidate
from harness.domain.event import OptimizerStep, ParameterGroup
from harness.domain.recording import RankRecording, Recorded, Recording, TensorBytes
from harness.oracle import client, worker
from harness.oracle.client import Oracle
from harness.oracle.facts import Consumed
from harness.oracle.following import Follower
from harness.oracle.measure import measure
from tests.quality.judging import SCENARIOS

CLIP = SCENARIOS["clip-after-step"]
PROBE = CLIP.probes[0]


@pytest.fixture(scope="module")
def honest(executor):
    """What a right program did."""
    candidate = Candidate(program=CLIP.reference, origin="test")
    return executor.execute(candidate, CLIP.workload_of(PROBE, 0), PROBE)


def told(recording: Recording) -> worker.WorkerAnswer:
    """What the process that measures answers."""
    question = worker.OracleQuestion(recording, CLIP.workload, PROBE, CLIP.expectations)
    return worker.answer_to(measure, question)


def with_events(honest: Recording, events: list[Recorded]) -> Recording:
    rank = RankRecording(rank=0, events=tuple(events), complete=True)
    return dataclasses.replace(honest, ranks=(rank,))


STRANGE = st.sampled_from([(), (0,), (1,), (0, 3), (2, 2), (64, 64)])


def rewritten(draw, honest: Recording) -> Recording:
    """The record of an honest run with a few records dropped, doubled, exchanged, or with other
    numbers in other sizes.
    """
    events = [Recorded(item.event, tuple(item.tensors)) for item in honest.ranks[0].events]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(events) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "sizes", "numbers", "names"])):
            case "drop" if len(events) > 1:
                del events[at]
            case "double":
                events.insert(at, events[draw(st.integers(0, len(events) - 1))])
            case "swap":
                other = draw(st.integers(0, len(events) - 1))
                events[at], events[other] = events[other], events[at]
            case "sizes":
                shape = draw(STRANGE)
                data = np.ones(shape, np.float32).tobytes()
                blobs = (TensorBytes(b.name, "float32", shape, data) for b in events[at].tensors)
                events[at] = Recorded(events[at].event, tuple(blobs))
            case "numbers":
                value = draw(st.sampled_from([np.nan, np.inf, 3e38, 0.0]))
                blobs = (
                    b._replace(data=np.full(b.shape, value, np.float32).tobytes())
                    for b in events[at].tensors
                    if b.dtype == "float32"
                )
                events[at] = Recorded(events[at].event, tuple(blobs))
            case "names":
                blobs = (b._replace(name=f"{b.name}.x") for b in events[at].tensors)
                events[at] = Recorded(events[at].event, tuple(blobs))
    return with_events(honest, events)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_rewritten_record_is_a_fault_of_the_oracle(honest, data):
    answer = told(rewritten(data.draw, honest))

    assert isinstance(answer, bytes), answer


def test_a_record_that_does_not_fit_is_called_malformed(honest):
    blob = TensorBytes("param:net.0.weight", "float32", (2,), b"\0" * 7)
    start = honest.ranks[0].events[0].event

    assert b"the record is malformed" in told(with_events(honest, [Recorded(start, (blob,))]))


def test_no_name_in_a_record_is_looked_up(monkeypatch):
    """Any attribute of ``torch.optim`` could be named, and was called."""
    called: list[object] = []
    monkeypatch.setattr(torch.optim, "Evil", lambda *a, **_: called.append(a), raising=False)
    group = ParameterGroup(parameters=("w",), numbers={"lr": 0.1}, flags={})
    step = OptimizerStep(optimizer=0, type="torch.optim.Evil", groups=(group,))
    w = {"w": np.ones(2, np.float32)}
    update = Consumed([], w, [step], w, w, skipped=False, position=0, loss_scale=1.0)

    assert Follower().follows(update) is None
    assert not called


@pytest.mark.full
def test_a_measurement_that_takes_too_long_is_ended_and_told(monkeypatch, honest):
    """A program of ten seconds kept the oracle busy for minutes."""
    real = worker.Worker.ask

    def impatient(self, question, seconds):
        return real(self, question, seconds if not question.recording.ranks else -1.0)

    monkeypatch.setattr(worker, "POLL", 0.01)
    monkeypatch.setattr(worker.Worker, "ask", impatient)
    with Oracle() as oracle:
        trace = oracle.measure(honest, CLIP.workload, PROBE, CLIP.expectations)

    assert trace.program.message == client.LATE
    assert not trace.program.ours

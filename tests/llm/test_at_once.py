"""Many threads ask one client, and any of them may close it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from harness.domain.model import Turn, Unavailable
from harness.llm import Anthropic, ClientLimits, CostMeter
from tests.fakes.messages_server import MessagesServer, fails, hangs, says
from tests.fakes.patience import PATIENCE

MODEL = "claude-haiku-4-5"


class MeterThatTells(CostMeter):
    """Says when the first attempt is over."""

    def __init__(self):
        super().__init__()
        self.left = threading.Event()

    @contextmanager
    def room_for(self, worst):
        with super().room_for(worst) as room:
            yield room
        self.left.set()


def ask(model):
    return model.complete("", (Turn(role="user", text="Where do I clip?"),), max_tokens=100)


def test_no_more_requests_at_once_than_allowed(monkeypatch):
    pairs, third = threading.Barrier(2, timeout=PATIENCE), threading.Barrier(3, timeout=0.3)

    def answer(_):
        pairs.wait()
        with suppress(threading.BrokenBarrierError):
            third.wait()
        return says("Before the step.")

    with MessagesServer(answer).running() as server, ThreadPoolExecutor(4) as pool:
        server.pose_as_api(monkeypatch)
        with Anthropic(MODEL, CostMeter(), ClientLimits(parallel=2)) as model:
            answers = list(pool.map(lambda _: ask(model).text, range(4)))

    assert answers == ["Before the step."] * 4
    assert server.most_at_once == 2


def test_closing_ends_a_pause(server):
    server.replies.append(fails(429, "rate_limit_error", retry_after="100"))
    with ThreadPoolExecutor(1) as pool:
        model = Anthropic(MODEL, meter := MeterThatTells())
        waiting = pool.submit(ask, model)
        assert meter.left.wait(PATIENCE)
        model.close()
        with pytest.raises(Unavailable) as caught:
            waiting.result(PATIENCE)

    assert caught.value.kind == "interrupted"


def test_closing_breaks_off_what_is_under_way(server):
    server.replies.append(hangs())
    with ThreadPoolExecutor(1) as pool:
        model = Anthropic(MODEL, CostMeter())
        waiting = pool.submit(ask, model)
        assert server.arrived.wait(PATIENCE)
        model.close()
        with pytest.raises(Unavailable) as caught:
            waiting.result(PATIENCE)
    with pytest.raises(Unavailable):
        ask(model)

    assert caught.value.kind == "interrupted"

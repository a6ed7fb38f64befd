"""A limit of cost is never exceeded, and calls under way count as if they cost the most."""

import threading

import pytest

from harness.domain.model import Turn, Unavailable
from harness.domain.transcript import Usage
from harness.llm import Anthropic, CostMeter, load_prices
from tests.fakes.messages_server import MessagesServer, says
from tests.fakes.patience import PATIENCE

ASKED = (Turn(role="user", text="Where do I clip?"),)


def test_what_is_settled_leaves_room_for_the_next():
    meter = CostMeter(limit=1.0)

    for _ in range(9):
        with meter.room_for(0.9) as room:
            room.settle(0.01)

    assert meter.spent == pytest.approx(0.09)


def test_a_call_that_does_not_fit_is_refused_with_the_figures():
    meter = CostMeter(limit=1.0)
    with meter.room_for(0.5) as room:
        room.settle(0.5)

    with pytest.raises(Unavailable) as caught, meter.room_for(0.6):
        pass

    assert caught.value.kind == "cost_limit"
    assert caught.value.in_vain
    assert "$1.00" in caught.value.sentence
    assert "$0.5000 is spent" in caught.value.sentence


def test_a_call_waits_for_those_under_way_before_it_is_refused():
    meter = CostMeter(limit=1.0)
    entered = threading.Event()

    def second():
        with meter.room_for(0.8) as room:
            entered.set()
            room.settle(0.1)

    thread = threading.Thread(target=second)
    with meter.room_for(0.8) as room:
        thread.start()
        assert not entered.is_set()
        room.settle(0.1)
    thread.join(PATIENCE)

    assert entered.is_set()
    assert meter.spent == pytest.approx(0.2)


def test_rounding_leaves_nobody_waiting():
    meter = CostMeter(limit=1.0)
    with meter.room_for(0.1), meter.room_for(0.2), meter.room_for(0.3):
        pass

    with pytest.raises(Unavailable), meter.room_for(2.0):
        pass


def test_a_call_that_failed_costs_nothing():
    meter = CostMeter(limit=1.0)

    with pytest.raises(KeyError), meter.room_for(0.5):
        raise KeyError

    assert meter.spent == 0
    with meter.room_for(1.0):
        pass


def ask_for_ever(meter):
    with Anthropic("claude-haiku-4-5", meter) as model:
        while True:
            model.complete("", ASKED, max_tokens=1000)


def test_asking_stops_before_the_limit_is_exceeded(monkeypatch):
    with MessagesServer(lambda _: says("Yes.", read=100, wrote=100)).running() as server:
        server.pose_as_api(monkeypatch)
        meter = CostMeter(limit=0.01)
        with pytest.raises(Unavailable, match="limit of"):
            ask_for_ever(meter)

    assert 0 < meter.spent <= 0.01
    assert len(server.requests) == round(meter.spent / 0.0006)


def test_a_dated_name_has_the_price_of_the_name_without_a_date():
    prices = load_prices()

    assert prices.of("claude-haiku-4-5-20251001") == prices.of("claude-haiku-4-5")
    assert prices.of("claude-of-tomorrow") is None


def test_every_kind_of_token_has_its_own_price():
    price = load_prices().of("claude-sonnet-4-6")

    usage = Usage(input=1_000_000, output=100_000, cache_read=1_000_000, cache_write=1_000_000)

    assert price.of(usage) == pytest.approx(3 + 1.5 + 0.3 + 3.75)

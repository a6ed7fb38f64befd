"""The client asks the real SDK, tries again what may pass, and names every way to have no answer."""

import os

import pytest

from harness.domain.errors import UsageError
from harness.domain.model import Completion, Tool, ToolResult, Turn, Unavailable
from harness.llm import Anthropic, ClientLimits, CostMeter
from tests.fakes.messages_server import (
    Reply,
    calls,
    cut_off,
    fails,
    hangs,
    hangs_up,
    refuses,
    says,
    thinks,
)
from tests.fakes.patience import PATIENCE

MODEL = "claude-haiku-4-5"
PATIENT = ClientLimits(attempts=3, first_pause=0.001, timeout=PATIENCE)
HASTY = ClientLimits(attempts=2, first_pause=0.001, timeout=0.2)
QUESTION = (Turn(role="user", text="Where do I clip?"),)


def ask(model: Anthropic, system: str = "", **more: object) -> Completion:
    return model.complete(system, QUESTION, max_tokens=100, **more)


def unavailable(limits: ClientLimits = PATIENT) -> Unavailable:
    with Anthropic(MODEL, CostMeter(), limits) as model, pytest.raises(Unavailable) as caught:
        ask(model)
    return caught.value


def test_an_answer_comes_with_its_tokens_and_its_cost(server):
    server.replies.append(says("Before the step.", read=1000, wrote=100, cached=500, written=200))

    with Anthropic(MODEL, CostMeter()) as model:
        answer = ask(model)

    assert answer.text == "Before the step."
    assert answer.usage.model_dump() == {
        "input": 1000,
        "output": 100,
        "cache_read": 500,
        "cache_write": 200,
    }
    assert answer.cost == pytest.approx((1000 * 1 + 100 * 5 + 500 * 0.1 + 200 * 1.25) / 1e6)
    assert model.meter.spent == pytest.approx(answer.cost)


def test_the_system_prompt_is_marked_for_the_cache(server):
    server.replies.append(says("Yes."))

    with Anthropic(MODEL, CostMeter()) as model:
        ask(model, "A long skill.")

    (block,) = server.requests[0]["system"]
    assert block["text"] == "A long skill."
    assert block["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(
    "trouble",
    [
        fails(429, "rate_limit_error", retry_after="0.001"),
        fails(529, "overloaded_error"),
        fails(500, "api_error"),
        hangs_up(),
    ],
    ids=["rate limited", "overloaded", "server error", "connection lost"],
)
def test_what_may_pass_is_tried_again(server, trouble):
    server.replies.extend([trouble, trouble, says("Before the step.")])

    with Anthropic(MODEL, CostMeter(), PATIENT) as model:
        assert ask(model).text == "Before the step."
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "kind", "requests"),
    [
        (fails(429, "rate_limit_error", retry_after="0.001"), "rate_limited", 3),
        (fails(529, "overloaded_error"), "overloaded", 3),
        (fails(500, "api_error"), "server_error", 3),
        (fails(504, "timeout_error"), "timeout", 3),
        (hangs_up(), "connection", 3),
        (fails(401, "authentication_error"), "authentication", 1),
        (fails(402, "billing_error"), "billing", 1),
        (fails(403, "permission_error"), "permission", 1),
        (fails(404, "not_found_error"), "no_such_model", 1),
        (fails(400, "invalid_request_error"), "bad_request", 1),
        (fails(413, "request_too_large"), "too_long", 1),
        (cut_off(), "truncated", 1),
        (refuses(), "refusal", 1),
        (says(""), "bad_response", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_way_to_have_no_answer_has_its_own_name(server, reply, kind, requests):
    server.replies.extend([reply] * requests)

    failure = unavailable()

    assert failure.kind == kind
    assert failure.sentence
    assert "\n" not in failure.sentence
    assert len(server.requests) == requests


def test_an_answer_that_takes_too_long_is_a_timeout_and_counts_as_spent(server):
    server.replies.extend([hangs(), hangs()])

    with Anthropic(MODEL, CostMeter(), HASTY) as model, pytest.raises(Unavailable) as caught:
        ask(model)

    assert caught.value.kind == "timeout"
    assert model.meter.spent > 2 * 100 * 5 / 1e6


def test_a_truncated_answer_keeps_what_was_said_and_what_it_cost(server):
    server.replies.append(cut_off("Clipping has to"))

    failure = unavailable()

    assert failure.text == "Clipping has to"
    assert failure.usage.output == 20


def test_a_provider_that_asks_for_an_hour_is_not_waited_for(server):
    server.replies.append(fails(429, "rate_limit_error", retry_after="3600"))

    assert unavailable().kind == "rate_limited"
    assert len(server.requests) == 1


def test_the_words_of_an_error_become_one_line(server):
    server.replies.append(fails(400, "invalid_request_error", said="one\ntwo\n" + "x" * 1000))

    sentence = unavailable().sentence

    assert sentence.startswith("the provider answers 400 invalid_request_error: one two x")
    assert len(sentence) < 310


def test_nobody_is_there_to_answer(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")

    assert unavailable().kind == "connection"


def test_without_a_key_one_line_says_so_and_what_works_without(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(UsageError) as caught:
        Anthropic(MODEL, CostMeter())

    assert "ANTHROPIC_API_KEY" in str(caught.value)
    assert "replay:DIR" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-\n", "sk a", "schl\u00fcssel"])
def test_a_key_that_is_none_is_refused_without_being_shown(server, monkeypatch, key):
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)

    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY holds a blank") as caught:
        Anthropic(MODEL, CostMeter())
    assert key not in str(caught.value)


@pytest.mark.parametrize("address", ["api.example.com", "ftp://x", "http://", "http://[::"])
def test_an_address_that_is_none_is_refused(server, monkeypatch, address):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)

    with pytest.raises(UsageError, match="ANTHROPIC_BASE_URL is no address"):
        Anthropic(MODEL, CostMeter())


TOKENS = {"input_tokens": 1, "output_tokens": 2}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"model": "m", "content": "text", "stop_reason": "end_turn", "usage": TOKENS},
        {"model": "m", "content": [], "stop_reason": "end_turn", "usage": {}},
        {"model": "m", "content": [{"type": "text"}], "stop_reason": "end_turn", "usage": TOKENS},
        {
            "model": "m",
            "content": [{"type": "text", "text": "x"}],
            "stop_reason": 7,
            "usage": TOKENS,
        },
    ],
    ids=["empty", "content is text", "no tokens", "block without text", "no reason to stop"],
)
def test_a_reply_that_is_no_answer_of_the_api_is_an_outcome(server, body):
    server.replies.append(Reply(body=body))

    assert unavailable().kind == "bad_response"


def test_thinking_is_not_part_of_the_text_and_is_handed_back_unchanged(server):
    server.replies.extend([thinks("Hm.", "Before the step."), says("Yes.")])

    with Anthropic(MODEL, CostMeter()) as model:
        first = ask(model)
        turns = (*QUESTION, first.as_turn(), Turn(role="user", text="Sure?"))
        model.complete("", turns, max_tokens=100)

    assert first.text == "Before the step."
    assert server.requests[1]["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Before the step."},
    ]


def test_calls_of_tools_come_back_and_go_out_again_unchanged(server):
    tool = Tool(name="read_skill", description="Reads.", parameters={"type": "object"})
    server.replies.extend([calls("read_skill", {"path": "SKILL.md"}), says("Done.")])

    with Anthropic(MODEL, CostMeter()) as model:
        first = ask(model, tools=(tool,))
        result = ToolResult(id=first.calls[0].id, content="# Clip once")
        turns = (*QUESTION, first.as_turn(), Turn(role="user", results=(result,)))
        second = model.complete("", turns, max_tokens=100, tools=(tool,))

    assert first.calls[0].input == {"path": "SKILL.md"}
    assert second.calls == ()
    said, given = server.requests[1]["messages"][1:]
    assert [block["type"] for block in said["content"]] == ["text", "tool_use"]
    assert given["content"][0]["tool_use_id"] == first.calls[0].id
    assert server.requests[0]["tools"][0]["name"] == "read_skill"


def test_a_model_that_is_not_in_the_table_has_no_cost(server):
    server.replies.append(says("Before the step."))

    with Anthropic("claude-of-tomorrow", CostMeter()) as model:
        assert ask(model).cost is None
    assert model.meter.unpriced == 1


def test_a_limit_of_cost_needs_a_price(server):
    with pytest.raises(UsageError, match="price of claude-of-tomorrow is not known"):
        Anthropic("claude-of-tomorrow", CostMeter(limit=1.0))

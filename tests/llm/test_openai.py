"""`openai:MODEL`: the official SDK, against a server on loopback that speaks Chat Completions."""

import json
from importlib.util import find_spec

import pytest

from harness.agents.naming import AskingOptions, agent_named
from harness.agents.skill_text import SkillFile, SkillText
from harness.domain.errors import UsageError
from harness.domain.model import Turn, Unavailable
from harness.llm import ClientLimits, CostMeter
from harness.scenarios import load_bank
from tests.fakes.bank import FakeBank
from tests.fakes.messages_server import MessagesServer, Reply

# Not imported here: that takes a second in each process that collects.
pytestmark = pytest.mark.skipif(not find_spec("openai"), reason="openai is an extra")

QUICK = ClientLimits(attempts=2, first_pause=0.001)
QUESTION = (Turn(role="user", text="Where do I clip?"),)
SKILL = SkillText(
    name="clip-well",
    description="How to clip.",
    files=(SkillFile(path="SKILL.md", content=b"---\nname: clip-well\n---\nClip once."),),
)


def openai_model(*given):
    from harness.llm.openai_client import OpenAIModel

    return OpenAIModel(*given)


def reply(message, reason="stop", **more):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "qwen3:8b"}
    return Reply(body={**body, "choices": [choice], "usage": usage, **more})


def says(text):
    return reply({"content": text})


def calls(name, arguments):
    function = {"name": name, "arguments": arguments}
    use = {"id": "call_1", "type": "function", "function": function}
    return reply({"content": None, "tool_calls": [use]}, "tool_calls")


def error(status, code):
    return Reply(status, {"error": {"message": "no", "type": code, "code": code}})


@pytest.fixture
def chat(monkeypatch):
    """A server of one's own, which wants no key."""
    with MessagesServer().running() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield running


@pytest.fixture
def scenario(tmp_path):
    (found,) = load_bank(FakeBank(tmp_path / "bank").add().folder).scenarios
    return found


def complete():
    with openai_model("qwen3:8b", CostMeter(), QUICK) as model:
        return model.complete("Be brief.", QUESTION, max_tokens=100)


def test_a_local_server_is_asked_without_a_key(chat):
    """The system prompt is the first message; tokens are counted, a price is not known."""
    chat.replies.append(says("Before the step."))
    answer = complete()

    assert (answer.text, answer.model, answer.cost) == ("Before the step.", "qwen3:8b", None)
    assert (answer.usage.input, answer.usage.output) == (100, 20)
    assert [m["role"] for m in chat.requests[0]["messages"]] == ["system", "user"]
    assert chat.requests[0]["max_tokens"] == 100


def test_an_agent_asks_in_two_turns_and_the_skill_is_read_through_a_tool(chat, scenario):
    """As with every model: `--agent openai:MODEL --delivery tool`."""
    read = calls("read_skill", '{"name": "clip-well"}')
    chat.replies += [read, says("```python\nf()\n```"), says("```python\ng()\n```")]
    how = AskingOptions(limits=QUICK, skill=SKILL, delivery="tool")
    with agent_named("openai:qwen3:8b", how) as agent:
        found = agent.ask(scenario)
    told = chat.requests[1]["messages"]

    assert found.agent == "openai:qwen3:8b"
    assert {f.key: f.value for f in found.facts}["skill_triggered"] == "yes"
    assert told[-1]["role"] == "tool"
    assert told[-1]["content"].endswith("Clip once.")
    assert told[-2]["tool_calls"][0]["id"] == told[-1]["tool_call_id"]


def test_arguments_that_are_no_json_are_the_models_mistake(chat, scenario):
    """It is told what its call lacks, and goes on."""
    chat.replies += [calls("read_skill", "{oops"), says("Yes."), says("No.")]
    with agent_named(
        "openai:m", AskingOptions(limits=QUICK, skill=SKILL, delivery="tool")
    ) as agent:
        agent.ask(scenario)

    assert "no such skill" in chat.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (reply({"content": "Clipping has"}, "length"), "truncated"),
        (reply({"content": None, "refusal": "I would rather not."}), "refusal"),
        (reply({"content": ""}, "content_filter"), "refusal"),
        (reply({"content": "  "}), "bad_response"),
        (Reply(body={"hello": "there"}), "bad_response"),
        (error(401, "invalid_api_key"), "authentication"),
        (error(404, "model_not_found"), "no_such_model"),
        (error(429, "insufficient_quota"), "billing"),
        (error(400, "context_length_exceeded"), "too_long"),
    ],
)
def test_every_way_to_have_no_answer_has_its_own_name(chat, answer, kind):
    """The same names as of other providers."""
    chat.replies += [answer, answer]
    with pytest.raises(Unavailable) as caught:
        complete()

    assert caught.value.kind == kind


def test_what_may_pass_is_tried_again(chat):
    """As with the other provider."""
    chat.replies += [error(503, "overloaded"), says("Yes.")]

    assert complete().text == "Yes."
    assert len(chat.requests) == 2


def test_without_key_and_server_one_line_names_both(monkeypatch):
    """Nothing is asked."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(UsageError, match=r"OPENAI_API_KEY is not set.*OPENAI_BASE_URL"):
        openai_model("gpt-5", CostMeter())


def test_a_judge_may_be_asked_of_another_server(chat):
    """`--judge openai:MODEL` reaches the same server."""
    from harness.rubric import judge_named

    with judge_named("openai:qwen3:8b") as judge:
        assert judge.name.startswith("openai:qwen3:8b")


def test_a_limit_of_cost_needs_a_price(chat):
    """A local model has none."""
    with pytest.raises(UsageError, match="price of qwen3:8b is not known"):
        openai_model("qwen3:8b", CostMeter(1.0))


def test_the_cache_keeps_servers_apart(chat, scenario, tmp_path, monkeypatch):
    """The same name on another server is another model."""
    chat.replies += [says("A"), says("B"), says("C"), says("D")]
    how = AskingOptions(limits=QUICK, cache=tmp_path / "cache")
    with agent_named("openai:m", how) as agent:
        first = agent.ask(scenario)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{chat.url}/other/v1")
    with agent_named("openai:m", how) as agent:
        second = agent.ask(scenario)

    assert json.dumps([first.messages[1].text, second.messages[1].text]) == '["A", "C"]'

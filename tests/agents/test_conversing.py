"""A model is asked the natural question first and alone, and then for something that runs."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.agents.agent import Unanswered
from harness.agents.naming import AskingOptions, agent_named, break_off
from harness.agents.turns import natural_part
from harness.domain.candidate import NoCandidate
from harness.domain.errors import UsageError
from harness.extraction import extract
from harness.llm import CostMeter
from tests.agents.asking import NATURAL, RUNNABLE, SKILL, SPEC, asked, facts
from tests.fakes.messages_server import MessagesServer, calls, cut_off, fails, hangs, refuses, says
from tests.fakes.patience import PATIENCE


def texts(request):
    return [message["content"] for message in request["messages"]]


def test_the_first_request_holds_the_message_and_nothing_else(server, scenario):
    server.replies.extend([NATURAL, RUNNABLE])

    asked(scenario)

    assert texts(server.requests[0]) == [scenario.prompt]
    assert "system" not in server.requests[0]
    assert "tools" not in server.requests[0]


def test_the_wish_for_runnable_code_follows_the_first_answer(server, scenario):
    server.replies.extend([NATURAL, RUNNABLE])

    transcript = asked(scenario)

    question, answer, wish = texts(server.requests[1])
    assert question == scenario.prompt
    assert answer[0]["text"].startswith("Clip before the step")
    assert "in a form that I can run" in wish
    assert [m.role for m in transcript.messages] == ["user", "assistant", "user", "assistant"]


def test_the_natural_part_is_told_from_the_rest(server, scenario):
    server.replies.extend([NATURAL, RUNNABLE])

    transcript = asked(scenario)
    first = extract(natural_part(transcript), scenario)

    assert facts(transcript)["runnable_form_turn"] == "2"
    assert natural_part(transcript).messages == transcript.messages[:2]
    assert not isinstance(first, NoCandidate)
    assert "step(x, y)" in first[0].program
    assert natural_part(natural_part(transcript)).messages == transcript.messages[:2]


def test_a_whole_skill_stands_in_the_system_prompt_of_both_turns(server, scenario):
    server.replies.extend([NATURAL, RUNNABLE])

    transcript = asked(scenario, skill=SKILL, delivery="system")

    systems = [request["system"][0]["text"] for request in server.requests]
    assert systems[0] == systems[1]
    assert "Clip once." in systems[0]
    assert "Unscale first." in systems[0]
    assert facts(transcript)["skill_digest"] == SKILL.digest


def test_a_listed_skill_is_read_through_the_tool(server, scenario):
    server.replies.extend(
        [
            calls("read_skill", {"name": "clip-well"}),
            calls("read_skill", {"name": "clip-well", "path": "references/amp.md"}),
            NATURAL,
            RUNNABLE,
        ]
    )

    transcript = asked(scenario, skill=SKILL, delivery="tool")

    system = server.requests[0]["system"][0]["text"]
    results = [request["messages"][-1]["content"][0]["content"] for request in server.requests[1:3]]
    assert [request["tools"][0]["name"] for request in server.requests] == ["read_skill"] * 4
    assert "clip-well: How to clip." in system
    assert "Clip once." not in system
    assert results == ["---\nname: clip-well\n---\nClip once.", "Unscale first."]
    assert facts(transcript)["skill_triggered"] == "yes"
    assert facts(transcript)["skill_files_read"] == "SKILL.md, references/amp.md"
    assert facts(transcript)["runnable_form_turn"] == "4"


@pytest.mark.parametrize(
    ("replies", "triggered"),
    [
        ([NATURAL, RUNNABLE], "no"),
        ([NATURAL, calls("read_skill", {"name": "clip-well"}), RUNNABLE], "late"),
    ],
    ids=["never read", "read after the first answer"],
)
def test_a_skill_that_was_not_read_in_time_counts_as_not_triggered(
    server, scenario, replies, triggered
):
    server.replies.extend(replies)

    transcript = asked(scenario, skill=SKILL, delivery="tool")

    assert facts(transcript)["skill_triggered"] == triggered


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("read_skill", {"name": "clip-well", "path": "../../etc/passwd"}, "no such file"),
        ("read_skill", {"name": "clip-well", "path": 7}, "no such file"),
        ("read_skill", {"name": "other"}, "no such skill"),
        ("bash", {"command": "ls"}, "no such tool"),
    ],
)
def test_a_call_for_something_else_gets_an_error_and_the_talk_goes_on(
    server, scenario, name, given, said
):
    server.replies.extend([calls(name, given), NATURAL, RUNNABLE])

    asked(scenario, skill=SKILL, delivery="tool")

    (result,) = server.requests[1]["messages"][-1]["content"]
    assert result["is_error"]
    assert result["content"].startswith(said)


@pytest.mark.full
def test_a_model_that_only_calls_tools_does_not_go_on_for_ever(server, scenario):
    server.replies.extend([calls("read_skill", {"name": "clip-well"})] * 20)

    with pytest.raises(Unanswered) as caught:
        asked(scenario, skill=SKILL, delivery="tool")

    assert caught.value.why.kind == "bad_response"
    assert len(server.requests) == 12


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (cut_off("Clip bef"), "truncated"),
        (refuses(), "refusal"),
        (fails(529, "overloaded_error"), "overloaded"),
    ],
    ids=["truncated", "refusal", "overloaded"],
)
def test_a_first_answer_that_does_not_come_is_no_answer_of_its_own_kind(
    server, scenario, reply, kind
):
    server.replies.extend([reply, reply])

    with pytest.raises(Unanswered) as caught:
        asked(scenario)

    assert caught.value.why.kind == kind
    assert not caught.value.why.in_vain


def test_a_second_answer_that_breaks_off_leaves_the_first_to_be_judged(server, scenario):
    server.replies.extend([NATURAL, refuses()])

    transcript = asked(scenario)

    assert facts(transcript)["runnable_form"] == "refusal"
    assert "step(x, y)" in transcript.answer


def test_tokens_and_cost_of_both_turns_are_told(server, scenario):
    server.replies.extend([says("Yes.", read=100, wrote=10), says("Done.", read=200, wrote=20)])

    transcript = asked(scenario)

    assert (transcript.usage.input, transcript.usage.output) == (300, 30)
    assert facts(transcript)["cost_usd"] == "0.000450"


def test_a_spent_limit_ends_asking_for_everybody(server, scenario):
    meter = CostMeter(limit=0.0001)

    with pytest.raises(Unanswered) as caught:
        asked(scenario, meter=meter)

    assert caught.value.why.kind == "cost_limit"
    assert caught.value.why.in_vain
    assert server.requests == []


def test_a_skill_without_a_description_cannot_be_listed(server):
    silent = SKILL.model_copy(update={"description": ""})

    with pytest.raises(UsageError, match="clip-well has no description"):
        agent_named(SPEC, AskingOptions(skill=silent, delivery="tool")).__enter__()


def test_several_threads_may_ask_at_once(monkeypatch, scenario):
    together = threading.Barrier(3, timeout=PATIENCE)

    def answer(body):
        if len(body["messages"]) == 1:
            together.wait()
            return NATURAL
        return RUNNABLE

    with MessagesServer(answer).running() as server, ThreadPoolExecutor(3) as pool:
        server.pose_as_api(monkeypatch)
        with agent_named(SPEC, AskingOptions()) as agent:
            found = list(pool.map(lambda trial: agent.ask(scenario, trial), (1, 2, 3)))

    assert [facts(transcript)["trial"] for transcript in found] == ["1", "2", "3"]
    assert len(server.requests) == 6


def test_breaking_off_ends_a_question_that_is_under_way(server, scenario):
    server.replies.append(hangs())
    with agent_named(SPEC, AskingOptions()) as agent, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(agent.ask, scenario)
        assert server.arrived.wait(PATIENCE)
        break_off(agent)
        with pytest.raises(Unanswered) as caught:
            waiting.result(PATIENCE)

    assert caught.value.why.kind == "interrupted"

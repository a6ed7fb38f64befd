"""What asking takes is told before anything is asked, without a key and without a request."""

import pytest

from harness.agents.naming import AskingOptions, agent_named
from harness.agents.plan import plan, render_plan
from harness.agents.skill_text import SkillFile, SkillText
from harness.domain.errors import UsageError
from harness.llm import CostMeter
from harness.scenarios import load_bank
from tests.fakes.bank import FakeBank
from tests.fakes.messages_server import MessagesServer, says

HAIKU = "anthropic:claude-haiku-4-5"
LONG = SkillText(
    name="clip-well",
    description="How to clip.",
    files=(SkillFile(path="SKILL.md", content=b"Clip once. " * 2000),),
)


@pytest.fixture
def bank(tmp_path):
    return load_bank(FakeBank(tmp_path / "bank").add("toy-loss").add("toy-norm").folder)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


def test_a_plan_counts_calls_tokens_and_dollars(bank):
    found = plan(bank, HAIKU, AskingOptions(meter=CostMeter(limit=5.0)), trials=3)
    said = render_plan(found)

    assert found.calls == 2 * 3 * 2
    assert found.usage.output == 12 * 2500
    assert found.cost < found.most
    assert found.most > 12 * 16_000 * 5 / 1e6
    assert "2 scenarios in 3 trials; 12 calls" in said
    assert "it stops before $5.00" in said


def test_a_limit_below_the_estimate_is_told(bank):
    said = render_plan(plan(bank, HAIKU, AskingOptions(meter=CostMeter(limit=0.01)), trials=3))

    assert said.endswith("it stops before $0.01, probably before all is asked")


def test_a_skill_that_is_read_every_time_comes_from_the_cache(bank):
    whole = plan(bank, HAIKU, AskingOptions(skill=LONG, delivery="system"), trials=3)
    listed = plan(bank, HAIKU, AskingOptions(skill=LONG, delivery="tool"), trials=3)

    assert whole.usage.cache_write > 4 * 6000
    assert whole.usage.cache_read > 8 * 6000
    assert listed.usage.cache_read == 0
    assert listed.calls == 18


def test_a_model_without_a_price_has_a_plan_that_says_so(bank):
    said = render_plan(plan(bank, "anthropic:claude-of-tomorrow", AskingOptions(), trials=1))

    assert "cost: not known, claude-of-tomorrow is not in the price table" in said


def test_answers_that_are_kept_are_not_planned_again(bank, tmp_path, monkeypatch):
    asking = AskingOptions(cache=tmp_path / "cache")
    with MessagesServer(lambda _: says("Yes.")).running() as server:
        server.pose_as_api(monkeypatch)
        with agent_named(HAIKU, asking) as agent:
            agent.ask(bank.scenarios[0])
        found = plan(bank, HAIKU, asking, trials=1)

    assert (found.kept, found.calls) == (1, 2)
    assert "1 answer kept from before" in render_plan(found)


def test_a_command_is_planned_by_its_runs(bank):
    said = render_plan(plan(bank, "command:cat", AskingOptions(seconds=60), trials=2))

    assert "4 runs of the command, at most 60 s each" in said


def test_scripted_answers_cost_nothing(bank):
    assert "nothing is paid" in render_plan(plan(bank, "reference", AskingOptions(), trials=2))


def test_answers_to_be_replayed_have_to_be_there(bank, tmp_path):
    (tmp_path / "toy-loss.md").write_text("Yes.")

    with pytest.raises(UsageError, match="no answer to toy-norm in trial 1"):
        plan(bank, f"replay:{tmp_path}", AskingOptions(), trials=1)

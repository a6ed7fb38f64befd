"""Questions in batches: both turns, every kind of result, and nothing paid twice after a kill."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.agents.batching import BatchUnderWay, Journal
from harness.cli import app
from tests.agents.asking import RUNNABLE, SPEC
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor
from tests.fakes.messages_server import (
    MessagesServer,
    cut_off,
    expires,
    fails,
    is_canceled,
    refuses,
    says,
)
from tests.fakes.oracle import opens
from tests.sampling import sampled

MODEL = SPEC.partition(":")[2]


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    fake = FakeBank(tmp_path / "bank")
    for number in range(3):
        fake.add(f"scenario-{number}")
    return fake.folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/gradient-skill-harness/answers"


def run(bank, *options):
    command = ["run", "--bank", str(bank), "--agent", SPEC, "--batch", "--json", *options]
    return CliRunner().invoke(app, command, obj=opens(FakeExecutor()))


def answers(server: MessagesServer, *firsts) -> None:
    """First turns by the order in which they are asked, then what runs."""
    given = iter(firsts)

    def answer(body):
        return RUNNABLE if len(body["messages"]) > 1 else next(given, says("Clip once."))

    server.answer = answer


def sizes(server):
    return [len(batch.requests) for batch in server.batches.values()]


def grades(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_turn_is_one_batch_of_all_questions(server, bank, cache):
    """What is asked is what would be asked at once; nothing is left under way."""
    answers(server)
    result = run(bank, "--trials", "2")

    assert (sizes(server), len(grades(result))) == ([6, 6], 6)
    params = server.batches["msgbatch_2"].requests[0]["params"]
    assert (params["model"], len(params["messages"])) == (MODEL, 3)
    assert "$0.00 spent" in result.stderr
    assert not list((cache / "batches").iterdir())


def test_answers_of_a_batch_are_kept_as_those_that_were_asked_at_once(server, bank):
    """The same command without --batch asks nothing."""
    answers(server)
    run(bank)
    before = len(server.requests)
    again = CliRunner().invoke(
        app, ["run", "--bank", str(bank), "--agent", SPEC], obj=opens(FakeExecutor())
    )

    assert "3 answers kept from before; nothing is asked" in again.stderr
    assert len(server.requests) == before


@pytest.mark.parametrize(
    "passing",
    sampled([expires(), fails(529, "overloaded_error"), fails(500, "api_error")], 1),
)
def test_what_expires_or_fails_in_passing_is_asked_again_alone(server, bank, passing):
    """In the next batch, with nothing else that was answered."""
    answers(server, says("A."), passing, says("B."))
    result = run(bank)

    assert sizes(server) == [3, 3, 1]  # the second holds two second turns and the one again
    assert [grade["error"] for grade in grades(result)] == [None] * 3


def test_what_never_passes_is_given_up_after_three_times(server, bank):
    """The other questions are graded."""
    answers(server, *[expires()] * 20)
    result = run(bank)

    assert sizes(server) == [3, 3, 3]
    assert all("expired" in grade["error"] for grade in grades(result))


@pytest.mark.parametrize(
    ("reply", "said"),
    sampled(
        [
            (fails(400, "invalid_request_error", said="too many tools"), "too many tools"),
            (is_canceled(), "the batch was canceled"),
            (cut_off(), "cut off after 20 tokens"),
            (refuses(), "the model refused"),
        ],
        2,
    ),
)
def test_what_will_not_pass_is_no_answer_and_the_rest_is_graded(server, bank, reply, said):
    """With the reason, as of a question that was asked at once."""
    answers(server, says("A."), reply, says("B."))
    errors = [grade["error"] for grade in grades(run(bank))]

    assert errors.count(None) == 2
    assert said in next(error for error in errors if error)


def test_a_limit_of_cost_holds_for_batches_at_their_price(server, bank):
    """What does not fit is not handed in."""
    answers(server)
    result = run(bank, "--max-cost", "0.05")

    assert sizes(server) == [1, 1]
    assert result.exit_code == 2
    assert "the limit of $0.05 does not hold another call" in result.stderr


def test_the_plan_says_both_prices(server, bank):
    """Half of it in a batch."""
    batched = run(bank, "--plan").stderr
    command = ["run", "--bank", str(bank), "--agent", SPEC, "--plan"]
    at_once = CliRunner().invoke(app, command).stderr

    assert "cost: about $0.04, at most $0.25 if every answer were as long as allowed" in batched
    assert "without --batch about $0.08, at most $0.49" in batched
    assert "in batches (--batch) about $0.04, at most $0.25" in at_once


@pytest.mark.full
def test_fresh_questions_are_asked_anew_once(server, bank):
    """Both turns, although the answers are kept from before."""
    answers(server)
    run(bank)
    run(bank, "--fresh")

    assert sizes(server) == [3, 3, 3, 3]


def test_both_arms_of_a_comparison_go_out_together(server, bank, tmp_path):
    """One batch a turn, whichever arm."""
    answers(server)
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: s\ndescription: d\n---\nClip.\n")
    command = ["compare", "--bank", str(bank), "--agent", SPEC, "--batch", "--trials", "1"]
    result = CliRunner().invoke(
        app, [*command, "--skill", "none", "--skill", str(skill)], obj=opens(FakeExecutor())
    )

    assert result.exit_code == 0
    assert sizes(server) == [6, 6]


def test_an_agent_that_is_no_model_takes_no_batches(bank):
    """In a sentence."""
    result = CliRunner().invoke(
        app, ["run", "--bank", str(bank), "--agent", "reference", "--batch"]
    )

    assert result.exit_code == 2
    assert "--batch is for anthropic:MODEL, not for reference" in result.stderr


@pytest.mark.full
def test_a_killed_process_loses_no_batch(server, bank, cache, tmp_path):
    """`kill -9` while it waits: the same command picks the batch up and hands in nothing twice."""
    answers(server)
    server.polls = 1_000_000
    command = [sys.executable, "-m", "harness", "run", "--bank", str(bank), "--agent", SPEC]
    process = subprocess.Popen([*command, "--batch"], env=os.environ, stderr=subprocess.PIPE)
    assert server.polled.wait(60)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    (kept,) = Journal(cache / "batches").batches(MODEL, server.url)
    assert (kept.id, len(kept.keys)) == ("msgbatch_1", 3)
    server.batches["msgbatch_1"].polls, server.polls = 0, 0
    result = run(bank)
    assert "batch msgbatch_1 was handed in before and is waited for" in result.stderr
    assert (sizes(server), len(grades(result))) == ([3, 3], 3)


@pytest.mark.full
def test_ctrl_c_leaves_the_batch_under_way_and_says_so(server, bank, cache):
    """With the exit code of an interruption."""
    answers(server)
    server.polls = 1_000_000
    command = [sys.executable, "-m", "harness", "run", "--bank", str(bank), "--agent", SPEC]
    process = subprocess.Popen([*command, "--batch"], env=os.environ, stderr=subprocess.PIPE)
    assert server.polled.wait(60)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert process.returncode == 130
    assert b"what was handed in goes on, and the same command picks it up" in said
    assert b"Traceback" not in said
    assert len(Journal(cache / "batches").batches(MODEL, server.url)) == 1


@pytest.mark.full
def test_a_batch_that_the_provider_forgot_is_handed_in_again(server, bank, cache):
    """As one of another account, or one that was deleted."""
    answers(server)
    run(bank)
    keys = tuple(one["custom_id"] for one in server.batches["msgbatch_1"].requests)
    lost = BatchUnderWay(id="gone", model=MODEL, address=server.url, keys=keys, created=4e9)
    Journal(cache / "batches").keep(lost)
    result = run(bank, "--fresh")

    assert "batch gone is not known to the provider any more" in result.stderr
    assert sizes(server) == [3, 3, 3, 3]


def test_a_wrong_key_is_one_sentence(server, bank):
    """Nothing is handed in."""
    server.batches_answer = fails(401, "authentication_error", said="invalid x-api-key")
    result = run(bank)

    assert result.exit_code == 2
    assert "harness: no batch: the provider answers 401" in result.stderr

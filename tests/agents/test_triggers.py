"""Whether a skill is found: `harness triggers`, asked of a model and of a command."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.agents.skill_text import load_skill_text
from harness.agents.triggers import load_triggers
from harness.cli import app
from tests.agents.asking import SPEC
from tests.fakes.messages_server import MessagesServer, calls, expires, fails, says

OURS = Path("skill/gradient-management")

PROMPTS = """should:
  - {id: clip, prompt: Where do I clip?}
  - {id: scale, prompt: How do I scale?}
should_not:
  - {id: export, prompt: How do I export?}
"""

CLAUDE = """
import json, pathlib, sys
asked = sys.stdin.read()
skills = sorted(path.name for path in pathlib.Path(".claude/skills").iterdir())
name = "toy" if "clip" in asked else skills[0]
use = {"type": "tool_use", "id": "1", "name": "Skill", "input": {"skill": name}}
said = [use, {"type": "text", "text": "Done."}]
for kind, content in (("user", asked), ("assistant", said)):
    print(json.dumps({"type": kind, "sessionId": "s", "uuid": kind, "parentUuid": None,
                      "message": {"role": kind, "content": content}}))
"""
"""An agent that prints a session log, and opens the skill for a question about clipping."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def skill(
    folder: Path, description: str = "Advice about clipping.", prompts: str = PROMPTS
) -> Path:
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"---\nname: toy\ndescription: {description}\n---\nClip.\n")
    if prompts:
        (folder / "triggers.yaml").write_text(prompts)
    return folder


def triggers(*arguments):
    return CliRunner().invoke(app, ["triggers", *map(str, arguments)])


def opens_for(server: MessagesServer, *words: str) -> None:
    """The model opens the skill where its message holds one of these words."""

    def answer(body):
        asked = body["messages"][0]["content"]
        wanted = any(word in asked for word in words)
        return calls("read_skill", {"name": "toy" if wanted else "sql-queries"})

    server.answer = answer


def test_rates_are_of_prompts_with_exact_intervals(server, tmp_path):
    """One of two is found, and the one that should not brings it up."""
    opens_for(server, "clip", "export")
    found = json.loads(triggers(skill(tmp_path / "toy"), "--agent", SPEC, "--json").stdout)

    assert (found["found"]["count"], found["found"]["of"]) == (1, 2)
    assert found["found"]["low"] == pytest.approx(0.0126, abs=1e-4)
    assert (found["disturbed"]["count"], found["disturbed"]["of"]) == (1, 1)
    assert [line["opened"] for line in found["prompts"]] == [1, 0, 1]


def test_the_model_sees_names_and_descriptions_among_others_and_nothing_else(server, tmp_path):
    """Not the text, not the prompts, in the order of the names."""
    opens_for(server)
    triggers(skill(tmp_path / "toy"), "--agent", SPEC, "--others", "2")

    system = server.requests[0]["system"][0]["text"]
    listed = [line.partition(":")[0] for line in system.splitlines() if line.startswith("- ")]
    assert listed == ["- data-cleaning", "- learning-rate-schedules", "- toy"]
    assert "Advice about clipping." in system
    assert "Clip." not in system


def test_skills_of_ones_own_can_be_among_the_others(server, tmp_path):
    """A folder of them."""
    opens_for(server)
    near = tmp_path / "near"
    near.mkdir()
    skill(near / "mine").joinpath("SKILL.md").write_text("---\nname: mine\ndescription: d\n---\n")
    result = triggers(skill(tmp_path / "toy"), "--agent", SPEC, "--others", 0, "--among", near, "--json")  # fmt: skip

    assert json.loads(result.stdout)["others"] == ["mine"]


def test_two_descriptions_are_compared_as_two_skills_are(server, tmp_path):
    """Right is what should be; seven prompts that are all lost are conclusive."""
    many = "should:\n" + "".join(f"  - {{id: p{n}, prompt: Clip {n}?}}\n" for n in range(7))
    old = skill(tmp_path / "old", prompts=many)
    new = skill(tmp_path / "new", "Advice about cooking.", prompts="")

    def answer(body):
        cooks = "cooking" in body["system"][0]["text"]
        return says("It depends.") if cooks else calls("read_skill", {"name": "toy"})

    server.answer = answer
    result = triggers(old, new, "--agent", SPEC, "--plain")

    assert result.exit_code == 1
    assert "found by 0 of 7 prompts that should bring it up" in result.stdout
    assert "new is worse than old: 100 points fewer right answers" in result.stdout


def test_a_command_shows_it_in_its_log(tmp_path):
    """The others are installed beside it."""
    script = tmp_path / "agent.py"
    script.write_text(CLAUDE)
    agent = f"command:{sys.executable} {script}"
    found = json.loads(triggers(skill(tmp_path / "toy"), "--agent", agent, "--json").stdout)

    assert [(p["opened"], p["not_opened"]) for p in found["prompts"]] == [(1, 0), (0, 1), (0, 1)]


def test_plain_text_shows_nothing_and_is_not_counted(tmp_path):
    """Exit code 4: nothing is known."""
    agent = f"command:{sys.executable} -c 'print(1)'"
    result = triggers(skill(tmp_path / "toy"), "--agent", agent)

    assert result.exit_code == 4
    assert "found: not known for any of the prompts that should" in result.stdout


def test_a_question_without_an_answer_is_not_counted(server, tmp_path):
    """It is named."""
    server.answer = lambda body: fails(400, "invalid_request_error", said="odd")
    result = triggers(skill(tmp_path / "toy"), "--agent", SPEC)

    assert (result.exit_code, "clip: no answer" in result.stderr) == (4, True)


@pytest.mark.parametrize(
    ("prompts", "said"),
    [
        ("", "triggers.yaml: there is none; expected prompts as two lists"),
        ("should: []\n", "triggers.yaml:1: "),
        ("should:\n  - {id: A b, prompt: x}\n", "triggers.yaml:2: "),
        ("should:\n  - {id: a, prompt: x}\n  - {id: a, prompt: y}\n", "the id a is given twice"),
    ],
)
def test_prompts_that_cannot_be_read_are_refused_with_their_line(tmp_path, prompts, said):
    """Before anything is asked."""
    result = triggers(skill(tmp_path / "toy", prompts=prompts), "--agent", "reference")

    assert (result.exit_code, said in result.stderr) == (2, True)


def test_an_agent_that_opens_no_skills_is_refused(tmp_path):
    """In a sentence."""
    result = triggers(skill(tmp_path / "toy"), "--agent", "reference")

    assert (result.exit_code, "reference opens no skills" in result.stderr) == (2, True)


def test_the_prompts_are_no_part_of_the_skill(tmp_path):
    """Neither of its digest nor of what an agent gets."""
    folder = skill(tmp_path / "toy")
    with_prompts = load_skill_text(folder)
    (folder / "triggers.yaml").unlink()

    assert load_skill_text(folder) == with_prompts


def test_our_own_skill_has_sixteen_prompts_for_it_and_four_that_are_not():
    """One for each use that its source names."""
    prompts = load_triggers(OURS)

    assert (len(prompts.should), len(prompts.should_not)) == (16, 4)


# ---------------------------------------------------------------------------------- in batches


def sizes(server: MessagesServer) -> list[int]:
    return [len(batch.requests) for batch in server.batches.values()]


def test_prompts_in_a_batch_are_found_as_those_that_were_asked_at_once(server, tmp_path):
    """One batch; what it brought is kept, and nothing is left under way."""
    opens_for(server, "clip", "export")
    folder = skill(tmp_path / "toy")
    batched = triggers(folder, "--agent", SPEC, "--batch", "--json")
    again = triggers(folder, "--agent", SPEC, "--json")

    assert sizes(server) == [3]
    assert "3 answers kept from before; nothing is asked and nothing is paid" in again.stderr
    assert (batched.exit_code, batched.stdout) == (0, again.stdout)
    assert not list((tmp_path / "cache").rglob("batches/*.json"))


def test_prompts_of_two_descriptions_go_out_as_one_batch(server, tmp_path):
    """Three prompts, twice, of each."""
    opens_for(server, "clip")
    old, new = skill(tmp_path / "old"), skill(tmp_path / "new", "Advice about cooking.")
    result = triggers(old, new, "--agent", SPEC, "--batch", "--trials", "2")

    assert (sizes(server), result.exit_code) == ([12], 0)


def test_a_prompt_that_expires_in_a_batch_is_asked_again_alone(server, tmp_path):
    """The others are answered."""
    given = iter([expires()])
    server.answer = lambda body: next(given, calls("read_skill", {"name": "toy"}))
    found = json.loads(
        triggers(skill(tmp_path / "toy"), "--agent", SPEC, "--batch", "--json").stdout
    )

    assert sizes(server) == [3, 1]
    assert [line["opened"] for line in found["prompts"]] == [1, 1, 1]


def test_a_prompt_that_fails_for_good_in_a_batch_is_not_counted(server, tmp_path):
    """It is named, with the reason."""
    refused = fails(400, "invalid_request_error", said="too many tools")
    opens = calls("read_skill", {"name": "toy"})
    server.answer = lambda body: refused if "clip" in body["messages"][0]["content"] else opens
    result = triggers(skill(tmp_path / "toy"), "--agent", SPEC, "--batch", "--plain")

    assert "clip: no answer: " in result.stderr
    assert "too many tools" in result.stderr
    assert "found by 1 of 1 prompts that should bring it up" in result.stdout


def test_the_plan_of_prompts_says_both_prices(server, tmp_path):
    """Half of it in a batch; nothing is asked."""
    folder = skill(tmp_path / "toy")
    at_once = triggers(folder, "--agent", SPEC, "--plan").stderr
    batched = triggers(folder, "--agent", SPEC, "--plan", "--batch").stderr

    assert "3 questions to " in at_once
    assert "in batches (--batch) about $" in at_once
    assert "without --batch about $" in batched
    assert not server.requests


def test_a_command_takes_no_batch_of_prompts(tmp_path):
    """In a sentence, before anything is asked."""
    result = triggers(skill(tmp_path / "toy"), "--agent", "command:true", "--batch")

    assert result.exit_code == 2
    assert "--batch is for anthropic:MODEL, not for command:true" in result.stderr


@pytest.mark.full
def test_a_killed_process_loses_no_batch_of_prompts(server, tmp_path):
    """The same command waits for it, and hands in nothing twice."""
    opens_for(server, "clip")
    server.polls = 1_000_000
    command = ["triggers", str(skill(tmp_path / "toy")), "--agent", SPEC, "--batch", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", *command], env=os.environ, stderr=subprocess.PIPE
    )
    assert server.polled.wait(60)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    server.batches["msgbatch_1"].polls, server.polls = 0, 0
    result = CliRunner().invoke(app, command)
    assert "batch msgbatch_1 was handed in before and is waited for" in result.stderr
    assert (sizes(server), json.loads(result.stdout)["found"]["count"]) == ([3], 1)

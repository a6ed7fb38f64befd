"""Any program is asked in a fresh workspace, and its output is read like any other transcript."""

import json
import os
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from harness.agents.agent import Unanswered
from harness.agents.naming import AskingOptions, agent_named, break_off
from harness.agents.skill_text import SkillFile, SkillText
from harness.domain.errors import UsageError
from harness.extraction import extract
from tests.fakes.patience import PATIENCE
from tests.fakes.runs import eventually, is_gone

SKILL = SkillText(
    name="clip-well",
    description="How to clip.",
    files=(
        SkillFile(path="SKILL.md", content=b"Clip once."),
        SkillFile(path="scripts/norms.sh", content=b"#!/bin/sh\necho 1\n", executable=True),
    ),
)


def spec(program: str, *arguments: str) -> str:
    words = [sys.executable, "-c", program, *arguments]
    return f"command:{shlex.join(words)}"


def asked(scenario, program, *arguments, **how):
    with agent_named(spec(program, *arguments), AskingOptions(**how)) as agent:
        return agent.ask(scenario)


def no_answer(scenario, program, **how):
    with pytest.raises(Unanswered) as caught:
        asked(scenario, program, **how)
    return caught.value.why


def test_the_question_comes_on_standard_input_and_the_answer_is_what_is_printed(scenario):
    transcript = asked(scenario, "import sys; print('You asked:', sys.stdin.read())")

    assert [message.role for message in transcript.messages] == ["user", "assistant"]
    assert transcript.prompt == scenario.prompt
    assert "You asked: Is this right?" in transcript.answer


def test_the_question_comes_as_a_file_where_the_command_wants_one(scenario):
    program = "import sys; print(open(sys.argv[1]).read(), [sys.stdin.read()])"

    transcript = asked(scenario, program, "{prompt_file}")

    assert scenario.prompt.strip() in transcript.answer
    assert transcript.answer.endswith("['']\n")


def test_the_workspace_holds_the_skill_and_nothing_else(scenario):
    program = "import os; print([os.path.join(d, f) for d, _, fs in os.walk('.') for f in fs])"

    with_skill = asked(scenario, program, skill=SKILL)
    without = asked(scenario, program, skill=SKILL, delivery="none")

    assert "./.claude/skills/clip-well/SKILL.md" in with_skill.answer
    assert with_skill.answer.count("./") == 2
    assert without.answer == "[]\n"


def test_scripts_of_the_skill_can_be_run(scenario):
    program = "import subprocess; print(subprocess.check_output('.claude/skills/clip-well/scripts/norms.sh'))"

    assert "1" in asked(scenario, program, skill=SKILL).answer


def test_nothing_in_place_or_variables_names_the_harness_or_the_scenario(scenario, monkeypatch):
    monkeypatch.setenv("HARNESS_SECRET", "1")
    program = "import json, os; print(json.dumps([os.getcwd(), dict(os.environ)]))"

    told = asked(scenario, f"print('Answer:'); {program}").answer
    place, variables = json.loads(told.partition("\n")[2])

    assert scenario.id not in told
    assert "harness" not in place.lower()
    assert "HARNESS_SECRET" not in variables
    assert "PYTEST_CURRENT_TEST" not in variables
    assert variables["HOME"] == os.environ["HOME"]
    assert variables["PWD"] == place


def test_files_that_the_agent_leaves_behind_are_its_proposal(scenario):
    loop = "for x, y in train_loader:\n    loss = criterion(model(x), y)\n    loss.backward()\n    optimizer.step()\n"

    transcript = asked(scenario, f"open('train.py', 'w').write({loop!r}); print('I wrote it.')")
    (candidate,) = extract(transcript, scenario)

    assert candidate.program == loop
    assert candidate.origin == "file train.py"


def test_a_notebook_that_the_agent_leaves_behind_is_its_program(scenario):
    """Its code cells, magics taken out; what they printed is not kept."""
    cells = [
        {"cell_type": "markdown", "source": "Train."},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "for x, y in loader:\n"]},
    ]
    cells[1]["source"] += ["    f(x, y).backward()\n", "    opt.step()"]
    cells[1]["outputs"] = [{"data": {"image/png": "x" * 20_000}}]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    write = "import json; json.dump(%r, open('train.ipynb', 'w')); print('Done.')"
    transcript = asked(scenario, write % book)
    (candidate,) = extract(transcript, scenario)

    assert candidate.origin == "file train.ipynb"
    assert candidate.program.endswith("    f(x, y).backward()\n    opt.step()")
    assert "image/png" not in transcript.messages[-1].calls[0].edits[0].content


def test_a_session_log_on_standard_output_is_read_as_one(scenario):
    text = {"type": "text", "text": "Clip before the step."}
    use = {
        "type": "tool_use",
        "id": "t1",
        "name": "Skill",
        "input": {"skill": "clip-well"},
    }
    said = {
        "type": "assistant",
        "session_id": "s",
        "parent_tool_use_id": None,
        "message": {"id": "m", "role": "assistant", "model": "some-model", "content": [text, use]},
    }
    done = {"type": "result", "subtype": "success", "session_id": "s", "result": text["text"]}
    lines = "\n".join(json.dumps(line) for line in (said, done))

    transcript = asked(scenario, f"print({lines!r})", skill=SKILL)
    found = {fact.key: fact.value for fact in transcript.facts}

    assert transcript.origin.format == "claude-stream"
    assert transcript.origin.file == "answer"
    assert found["skill_triggered"] == "yes"
    assert transcript.agent.startswith("command:")


@pytest.mark.parametrize(
    ("program", "kind", "sentence"),
    [
        ("import sys; sys.exit('no credit\\nleft')", "command_failed", "ended with 1: left"),
        ("pass", "unreadable", "the file is empty"),
        ("print('  ')", "unreadable", "is no answer"),
        ("import os; os.kill(os.getpid(), 9)", "command_failed", "ended with -9"),
    ],
    ids=["fails", "prints nothing", "prints blanks", "is killed"],
)
def test_a_command_that_does_not_answer_is_no_wrong_answer(scenario, program, kind, sentence):
    why = no_answer(scenario, program)

    assert why.kind == kind
    assert sentence in why.sentence


def test_a_command_that_takes_too_long_is_ended_with_its_children(scenario, tmp_path):
    name = tmp_path / "name-of-the-child"
    line = f"command:sh -c 'tail -f {name} /dev/null & wait'"

    with (
        agent_named(line, AskingOptions(seconds=1.0)) as agent,
        pytest.raises(Unanswered, match="after 1 seconds") as caught,
    ):
        agent.ask(scenario)

    assert caught.value.why.kind == "timeout"
    assert eventually(lambda: not named(str(name)))


def test_nothing_stays_behind_a_command_that_has_answered(scenario, tmp_path):
    file = tmp_path / "child"
    line = f"command:sh -c 'sleep 600 & echo $! > {file}; echo Clip before the step.'"

    with agent_named(line, AskingOptions()) as agent:
        answer = agent.ask(scenario).answer

    assert answer == "Clip before the step.\n"
    assert eventually(lambda: is_gone(int(file.read_text())))


def test_breaking_off_ends_what_is_under_way(scenario, tmp_path):
    pipe = tmp_path / "started"
    os.mkfifo(pipe)
    program = f"import time; open({str(pipe)!r}, 'w').write('x'); time.sleep(600)"
    with ThreadPoolExecutor(1) as pool, agent_named(spec(program), AskingOptions()) as agent:
        waiting = pool.submit(agent.ask, scenario)
        pipe.read_text()
        break_off(agent)
        with pytest.raises(Unanswered) as caught:
            waiting.result(PATIENCE)

    assert caught.value.why.kind == "interrupted"


def test_an_answer_is_kept_and_a_failure_is_not(scenario, tmp_path):
    count = tmp_path / "count"
    program = (
        f"import os, sys; open({str(count)!r}, 'a').write('x');"
        f" sys.exit('first') if os.path.getsize({str(count)!r}) == 1 else print('Clip.')"
    )

    assert no_answer(scenario, program, cache=tmp_path / "cache").kind == "command_failed"
    first = asked(scenario, program, cache=tmp_path / "cache")
    second = asked(scenario, program, cache=tmp_path / "cache")

    assert first == second
    assert count.read_text() == "xx"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("command:", "needs the command"),
        ("command:no-such-program --print", "no program no-such-program"),
        ("command:echo 'half", "no closing quotation"),
        ("gpt", "no such agent; choose buggy, reference, anthropic:MODEL"),
        ("anthropic:", "no model is named; choose"),
        ("replay:/nowhere", "no such folder"),
    ],
)
def test_an_agent_that_does_not_exist_gets_one_line(line, sentence):
    with pytest.raises(UsageError, match=sentence):
        agent_named(line, AskingOptions()).__enter__()


def named(word: str) -> list[Path]:
    """The processes that have it in their arguments; a dead one has none."""
    found = []
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            if word in arguments.read_text(errors="replace"):
                found.append(arguments)
    return found


def answer_of(scenario, script, cache, **how):
    line = f"command:{shlex.join([sys.executable, str(script)])}"
    with agent_named(line, AskingOptions(cache=cache, **how)) as agent:
        return agent.ask(scenario).answer


def test_a_script_that_was_edited_is_asked_anew(scenario, tmp_path):
    """What it said before its edit is another agent's answer."""
    script, cache = tmp_path / "agent.py", tmp_path / "cache"
    said = []
    for word in ("one", "one", "two"):
        script.write_text(f"import os; print('{word}', os.getpid())")
        said.append(answer_of(scenario, script, cache))

    assert said[0] == said[1]
    assert "two" in said[2]


def test_fresh_asks_anew_and_keeps_what_is_answered_now(scenario, tmp_path):
    """The next question without it gets the newer answer."""
    script, cache = tmp_path / "agent.py", tmp_path / "cache"
    script.write_text("import os; print(os.getpid())")

    old = answer_of(scenario, script, cache)
    new = answer_of(scenario, script, cache, fresh=True)

    assert new != old
    assert answer_of(scenario, script, cache) == new

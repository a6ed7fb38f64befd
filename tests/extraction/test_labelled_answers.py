"""The project's own labelled answers: sound as data, extracted as labelled, and judged as labelled.

Beside the real answers in ``tests/material/answers`` there are four kinds. Of each scenario, ``ideal.md``
meets every criterion and ``rationalizing.md`` none; ``tests/material/labelled`` holds answers that miss
chosen ones, in a half that patterns of a judge may be tuned on (``seen``), one that they were not
tuned on until it was read (``unseen``), and one that nobody who writes patterns reads (``fresh``).
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.domain.candidate import NoCandidate
from harness.extraction import proposals
from harness.scenarios import load_bank
from harness.transcripts import read
from tests.extraction.situation import ROOT

SCENARIOS = {s.id: s for s in load_bank(ROOT / "scenarios").scenarios}
REAL = ROOT / "tests/material/answers"
HALVES = [ROOT / "tests/material/labelled" / half for half in ("seen", "unseen")]
FRESH = ROOT / "tests/material/labelled/fresh"


def labels_of(folder: Path) -> dict[Path, dict]:
    return {
        folder / name: label
        for name, label in yaml.safe_load((folder / "labels.yaml").read_text()).items()
    }


LABELLED = {path: label for half in HALVES for path, label in labels_of(half).items()}
EXTREMES = {path: path.parent.parent.name for path in sorted(ROOT.glob("scenarios/*/answers/*.md"))}

# Where the verdict is not the label, and why. The label is what a careful reader says.
OFF: dict[str, str] = {}


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(text: str) -> str:
    """The text without its code."""
    return re.sub(r"^```.*?^```$|`[^`\n]*`", " . ", text, flags=re.DOTALL | re.MULTILINE)


def fours(text: str) -> set[str]:
    """Every four consecutive words inside of a paragraph or between pieces of code."""
    found: set[str] = set()
    for part in re.split(r" \. |\n\s*\n|\n[-*#|] ", prose(text)):
        words = re.findall(r"[a-z0-9']+", part.lower())
        found |= {" ".join(words[i : i + 4]) for i in range(len(words) - 3)}
    return found


@pytest.mark.parametrize("half", HALVES, ids=lambda half: half.name)
def test_every_answer_has_a_label_and_every_label_an_answer(half):
    assert {p.name for p in half.glob("*.md")} == {p.name for p in labels_of(half)}


@pytest.mark.parametrize("path", LABELLED, ids=short)
def test_a_label_speaks_about_each_criterion_and_quotes_the_answer(path):
    label, text = LABELLED[path], path.read_text()
    rubric = SCENARIOS[label["scenario"]].rubric

    assert list(label["criteria"]) == [c.id for c in rubric]
    given = {c: said for c, said in label["criteria"].items() if "quote" in said}
    assert {c: s["quote"] for c, s in given.items() if s["quote"] not in text} == {}
    assert [c for c, s in label["criteria"].items() if not s["met"] and not s.get("why")] == []


@pytest.mark.parametrize("scenario", sorted({label["scenario"] for label in LABELLED.values()}))
def test_every_criterion_has_answers_that_meet_it_and_answers_that_do_not(scenario):
    """Three of each at least, counting the ideal and the rationalizing one; most have five."""
    labels = [LABELLED, labels_of(FRESH), labels_of(REAL)]
    about = [x for some in labels for x in some.values() if x["scenario"] == scenario]

    for criterion in SCENARIOS[scenario].rubric:
        said = [x["criteria"].get(criterion.id) for x in about]  # fresh ones leave unclear ones out
        met = [one["met"] for one in said if one is not None]
        assert 1 + sum(met) >= 3, criterion.id
        assert 1 + len(met) - sum(met) >= 3, criterion.id


@pytest.mark.parametrize("path", [*LABELLED, *EXTREMES], ids=short)
def test_an_answer_borrows_no_four_words_from_its_rubric_or_from_a_real_answer(path):
    """Else a judge that knows those by heart would look better than it is."""
    scenario = EXTREMES.get(path) or LABELLED[path]["scenario"]
    asked = {four for c in SCENARIOS[scenario].rubric for four in fours(c.asks)}
    answered = {four for real in REAL.glob("*.md") for four in fours(real.read_text())}

    assert sorted(fours(path.read_text()) & (asked | answered)) == []


@pytest.mark.parametrize("path", LABELLED, ids=short)
def test_the_labelled_blocks_are_the_proposal(path):
    """No blocks, where the label says that there is no program."""
    label = LABELLED[path]
    blocks = label["final_blocks"]
    (transcript,) = read(path)

    found = proposals(transcript, SCENARIOS[label["scenario"]])

    if label["code"] == "none":
        assert isinstance(found, NoCandidate)
        assert found.reason
    else:
        assert not isinstance(found, NoCandidate)
        expected = blocks if isinstance(blocks[0], list) else [blocks]
        assert [list(one.blocks) for one in found] == expected


@pytest.mark.parametrize("path", EXTREMES, ids=short)
def test_ideal_and_rationalizing_answers_propose_one_program(path):
    (transcript,) = read(path)

    found = proposals(transcript, SCENARIOS[EXTREMES[path]])

    assert not isinstance(found, NoCandidate)
    assert len(found) == 1


def graded(scenarios: dict[Path, str]) -> dict[str, dict]:
    """What `harness grade` says, by file."""
    mapped = {short(path): scenario for path, scenario in scenarios.items()}
    command = [sys.executable, "-m", "harness", "grade", *mapped, "--map", "/dev/stdin", "--json"]
    done = subprocess.run(
        command, cwd=ROOT, input=json.dumps(mapped), capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, len(lines)) == (1, len(mapped)), done.stderr
    return {line["file"]: line for line in lines}


@pytest.mark.full
def test_code_is_judged_as_labelled():
    """On both halves, but for those that are named above with the reason."""
    found = graded({path: label["scenario"] for path, label in LABELLED.items()})

    labels = {short(path): label["code"] for path, label in LABELLED.items()}
    off = {f: line["code"] for f, line in found.items() if line["code"] != labels[f]}
    decided = ("right", "wrong")
    turned = {f: code for f, code in off.items() if code in decided and labels[f] in decided}
    assert {f: code for f, code in turned.items() if Path(f).name not in OFF} == {}
    assert len(off) <= 3, off
    assert [name for name in OFF if not any(Path(f).name == name for f in off)] == []


@pytest.mark.full
def test_ideal_answers_are_right_and_rationalizing_ones_are_not():
    found = graded(EXTREMES)

    codes = {f: line["code"] for f, line in found.items()}
    assert {f for f, code in codes.items() if "/ideal" in f and code != "right"} == set()
    assert {f for f, code in codes.items() if "/rationalizing" in f and code == "right"} == set()

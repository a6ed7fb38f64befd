"""Reads ``lexical.yaml``: patterns by which a scenario's criteria are recognised."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.domain.lexicon import Lexicon
from harness.scenarios.complaints import complain
from harness.scenarios.files import BankFiles
from harness.scenarios.patterns import refusals
from harness.scenarios.problem import did_you_mean
from harness.scenarios.schema import ScenarioFile
from harness.scenarios.yaml_tree import Complaint, Tree, read_yaml

# Compiling a thousand patterns takes half a second. Those of this checkout are compiled by its tests.
_OURS = Path(__file__).resolve().parents[2] / "scenarios"


def read_lexicon(folder: Path, file: ScenarioFile | None, files: BankFiles) -> Lexicon:
    """The patterns of a scenario; none where it has no such file. Problems go to ``files``."""
    path = folder / "lexical.yaml"
    if not path.exists():
        return Lexicon()
    text = files.text(path, "patterns for the rubric")
    if text is None:
        return Lexicon()
    tree = read_yaml(text)
    complaints = [*tree.complaints, *complain(Lexicon, tree.value, tree)]
    files.complain(path, *complaints)
    if complaints:
        return Lexicon()
    lexicon = Lexicon.model_validate_json(json.dumps(tree.value), strict=True)
    if files.bank != _OURS:
        bad = (Complaint(tree.line_of(place), why) for place, why in refusals(lexicon))
        files.complain(path, *bad)
    if file is not None:
        files.complain(path, *_strangers(lexicon, file, tree))
    return lexicon


def _strangers(lexicon: Lexicon, file: ScenarioFile, tree: Tree) -> Iterator[Complaint]:
    """Patterns for what the scenario does not have."""
    criteria = {
        name: entry.by for name, entry in (*file.rubric.must.items(), *file.rubric.must_not.items())
    }
    read = [name for name, by in criteria.items() if by != "execution"]
    excuses = [line.excuse for line in file.rationalizations]
    yield from _unknown("criteria", "criterion that text decides", lexicon.criteria, read, tree)
    yield from _unknown("rationalizations", "excuse", lexicon.rationalizations, excuses, tree)


def _unknown(
    key: str, noun: str, given: Iterable[str], known: list[str], tree: Tree
) -> Iterator[Complaint]:
    for name in given:
        if name not in known:
            sentence = f"{key}: there is no {noun} {name}{did_you_mean(name, known)}"
            yield Complaint(tree.line_of((key, name)), sentence)

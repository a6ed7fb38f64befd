"""What judges a scenario: what its programs do on a workload, a pytest file, or words alone."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from harness.domain.scenario import Expectations, Probe, PropertyRule
from harness.domain.workload import WorkloadSpec
from harness.scenarios.files import BankFiles
from harness.scenarios.problem import did_you_mean
from harness.scenarios.programs import program_problem
from harness.scenarios.schema import BY_TESTS, OF_WORDS, REQUIRED, ScenarioFile
from harness.scenarios.yaml_tree import Complaint, Tree

TESTS = "test_answer.py"
"""The pytest file that judges a scenario, beside its ``scenario.yaml``."""

ScenarioKind = Literal["workload", "tests", "words"]

KEYS: dict[ScenarioKind, tuple[str, ...]] = {
    "workload": REQUIRED,
    "tests": BY_TESTS,
    "words": OF_WORDS,
}
"""Keys that a declaration has to give."""


def kind_of(folder: Path, value: JsonValue) -> ScenarioKind:
    """What judges the scenario in a folder, by its files and the keys of its declaration."""
    if (folder / TESTS).exists():
        return "tests"
    declared = value if isinstance(value, dict) else {"workload": None}
    says = {"workload", "probes", "properties", "buggy_fails"} & declared.keys()
    return "workload" if says or (folder / "buggy.py").exists() else "words"


def read_tests(folder: Path, files: BankFiles) -> str | None:
    """The pytest file; its problems go to ``files``."""
    path = folder / TESTS
    text = files.text(path, "tests that judge the answer's program")
    problem = program_problem(text) if text is not None else None
    if text is not None and problem is None and not names_of(text):
        said = "it holds no test: expected functions such as test_it_counts_every_row()"
        problem = Complaint(0, said)
    if problem is None:
        return text
    files.complain(path, problem)
    return None


def names_of(tests: str) -> tuple[str, ...]:
    """The tests of a pytest file, by name."""
    return tuple(
        node.name
        for node in ast.parse(tests).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def unknown_tests(file: ScenarioFile, tree: Tree, tests: str | None) -> Iterator[Complaint]:
    """Tests that are declared and are not there."""
    there = names_of(tests) if tests is not None else ()
    for i, name in enumerate(file.buggy_fails or ()):
        if there and name.startswith("test_") and name not in there:
            sentence = f"buggy_fails: there is no test {name}{did_you_mean(name, there)}"
            yield Complaint(tree.line_of(("buggy_fails", i)), sentence)


def judged_by(tests: str, posted: str) -> dict[str, object]:
    """The parts of a scenario whose program is tested."""
    lifts = "What its tests say of the program, and of the posted one before and after it."
    return {
        "workload": WorkloadSpec.model_validate({"name": "mlp", "parameters": {}}),
        "probes": (Probe(name="tests", lifts=lifts, tests=tests, posted=posted),),
        "expectations": Expectations(objectives=("as-computed",)),
        "properties": tuple(PropertyRule(id=name) for name in names_of(tests)),
    }


def judged_in_words() -> dict[str, object]:
    """The parts of a scenario of which nothing is run."""
    return {
        "workload": WorkloadSpec.model_validate({"name": "mlp", "parameters": {}}),
        "probes": (),
        "expectations": Expectations(objectives=("as-computed",)),
        "properties": (),
    }

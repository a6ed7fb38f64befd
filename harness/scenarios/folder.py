"""One folder of the bank becomes one ``Scenario``."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import JsonValue

from harness.domain.record import meaning_of
from harness.domain.scenario import (
    Criterion,
    Expectations,
    NamedProgram,
    Probe,
    PropertyRule,
    Scenario,
)
from harness.domain.workload import WorkloadSpec
from harness.scenarios.checks import disagreements
from harness.scenarios.complaints import complain, is_misspelt, refusals
from harness.scenarios.files import LARGEST, BankFiles
from harness.scenarios.kinds import (
    KEYS,
    TESTS,
    ScenarioKind,
    judged_by,
    judged_in_words,
    kind_of,
    read_tests,
    unknown_tests,
)
from harness.scenarios.programs import decode, program_problem, render, uses_loop
from harness.scenarios.schema import PropertyLists, RubricEntry, ScenarioFile
from harness.scenarios.yaml_tree import Complaint, Tree, read_yaml
from harness.untrusted import read_bytes


def read_scenario(folder: Path, files: BankFiles) -> Scenario | None:
    """The scenario in a folder; its problems go to ``files``, and with one there is no scenario."""
    known = len(files.problems)
    file, kind = _read_declaration(folder, files)
    prompt = files.text(folder / "prompt.md", "the user's message, a jinja2 template")
    buggy: str | None = ""
    reference: str | None = ""
    if kind != "words":
        buggy = _read_program(folder / "buggy.py", "the faulty loop", files)
        reference = _read_program(_reference_of(folder, files), "the reference fix", files)
    message = _read_message(folder, prompt, buggy, files)
    others = {kind: _read_programs(folder / kind, files) for kind in ("alternatives", "cheats")}
    if len(files.problems) > known or file is None:
        return None
    assert message is not None
    assert buggy is not None
    assert reference is not None
    scenario = _scenario(file, message, (buggy, reference), _judged(kind, file, folder, buggy))
    return scenario.model_copy(update=others)


def _read_declaration(folder: Path, files: BankFiles) -> tuple[ScenarioFile | None, ScenarioKind]:
    path = folder / "scenario.yaml"
    text = files.text(path, "what the scenario declares")
    if text is None:
        return None, "workload"
    tree = read_yaml(text)
    kind = kind_of(folder, tree.value)
    files.complain(path, *tree.complaints)
    if not isinstance(tree.value, dict):
        if not tree.complaints:
            files.complain(path, Complaint(1, "expected keys with values"))
        return None, kind
    unread = {complaint.line for complaint in tree.complaints}
    refused = [c for c in complain(ScenarioFile, tree.value, tree) if c.line not in unread]
    files.complain(path, *refused, *_missing(tree, KEYS[kind]))
    file = _sound_part(tree.value)
    files.complain(path, *disagreements(file, tree, folder.name))
    tests = read_tests(folder, files) if kind == "tests" else None
    files.complain(path, *unknown_tests(file, tree, tests))
    files.complain(path, *_loop_as_shown(file, tree, folder))
    if file.id is not None:
        files.claim(file.id, path, tree.line_of(("id",)))
    return file, kind


def _sound_part(value: dict[str, JsonValue]) -> ScenarioFile:
    """The declaration without the keys that were refused, so that the rest can be checked."""
    refused = {error["loc"][0] for error in refusals(ScenarioFile, value)}
    sound = {key: given for key, given in value.items() if key not in refused}
    return ScenarioFile.model_validate_json(json.dumps(sound), strict=True)


def _missing(tree: Tree, required: Iterable[str]) -> Iterator[Complaint]:
    assert isinstance(tree.value, dict)
    strange = [(key,) for key in tree.value if key not in ScenarioFile.model_fields]
    for name in required:
        if name not in tree.value and not is_misspelt((name,), strange):
            meaning = meaning_of(ScenarioFile, name)
            yield Complaint(1, f"the key {name} is missing: {meaning}")


def _loop_as_shown(file: ScenarioFile, tree: Tree, folder: Path) -> Iterator[Complaint]:
    path = folder / "prompt.md"
    if file.shows_loop is None or not path.is_file():
        return
    try:
        shown = uses_loop(read_bytes(path, LARGEST).decode("utf-8", errors="replace"))
    except OSError:  # which was complained of
        return
    if shown is not None and shown != file.shows_loop:
        does = "inserts" if shown else "does not insert"
        said = f"shows_loop is {str(file.shows_loop).lower()}, but prompt.md {does} {{{{ buggy }}}}"
        yield Complaint(tree.line_of(("shows_loop",)), said)


def _reference_of(folder: Path, files: BankFiles) -> Path:
    """``reference.py`` in the folder, or ``reference_impls/<id>.py`` beside the bank."""
    inside = folder / "reference.py"
    beside = folder.parent.parent / "reference_impls" / f"{folder.name}.py"
    if inside.exists() and beside.exists():
        files.complain(inside, Complaint(0, f"there is a second reference: {beside}"))
    return inside if inside.exists() else beside


def _read_program(path: Path, role: str, files: BankFiles) -> str | None:
    text = files.text(path, role)
    problem = program_problem(text) if text is not None else None
    if problem is not None:
        files.complain(path, problem)
    return text


def _read_programs(folder: Path, files: BankFiles) -> tuple[NamedProgram, ...]:
    """Every program in a folder that need not be there, by name."""
    found = [(path.stem, _read_program(path, "a program", files)) for path in _programs_in(folder)]
    return tuple(NamedProgram(name=name, program=text) for name, text in found if text is not None)


def _programs_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py")) if folder.is_dir() else []


def _read_message(
    folder: Path, prompt: str | None, buggy: str | None, files: BankFiles
) -> str | None:
    if prompt is None:
        return None
    message = render(prompt, buggy or "pass")
    if isinstance(message, Complaint):
        files.complain(folder / "prompt.md", message)
        return None
    return message


def _judged(kind: ScenarioKind, file: ScenarioFile, folder: Path, buggy: str) -> dict[str, object]:
    """How a scenario's programs are run, and by what they are judged."""
    if kind == "words":
        return judged_in_words()
    if kind == "tests":
        tests = decode((folder / TESTS).read_bytes())
        assert isinstance(tests, str)
        return judged_by(tests, buggy)
    assert file.workload is not None
    assert file.properties is not None
    return {
        "workload": WorkloadSpec.model_validate(file.workload.model_dump()),
        "probes": tuple(Probe.model_validate(p.model_dump()) for p in file.probes or ()),
        "expectations": file.expects or Expectations(),
        "properties": tuple(_rules(file.properties)),
        "requires": file.requires,
    }


def _scenario(
    file: ScenarioFile, message: str, programs: tuple[str, str], judged: dict[str, object]
) -> Scenario:
    assert file.id is not None
    given = {
        "id": file.id,
        "title": file.title,
        "suite": file.suite,
        "source": file.source,
        "pressure": file.pressure,
        "prompt": message,
        "buggy": programs[0],
        "reference": programs[1],
        "buggy_fails": file.buggy_fails or (),
        "rubric": tuple(_criteria(file.rubric)),
        "rationalizations": file.rationalizations,
    }
    return Scenario.model_validate({**given, **judged})


def _rules(lists: PropertyLists) -> Iterator[PropertyRule]:
    yield from (PropertyRule(id=name, level="required") for name in lists.required)
    yield from (PropertyRule(id=name, level="advisory") for name in lists.advisory)
    for name, reason in lists.allows.items():
        yield PropertyRule(id=name, level="allowed", reason=reason)


def _criteria(rubric: RubricEntry) -> Iterator[Criterion]:
    for name, entry in rubric.must.items():
        yield Criterion(id=name, polarity="must", **entry.model_dump())
    for name, entry in rubric.must_not.items():
        yield Criterion(id=name, polarity="must_not", **entry.model_dump())

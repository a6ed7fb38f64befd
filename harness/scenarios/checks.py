"""What has to agree between the keys of one ``scenario.yaml``."""

from collections import Counter
from collections.abc import Iterable, Iterator

from harness.domain.workload import WORKLOADS
from harness.scenarios.complaints import complain
from harness.scenarios.problem import did_you_mean
from harness.scenarios.schema import ScenarioFile
from harness.scenarios.yaml_tree import Complaint, Tree, YamlPath


def disagreements(file: ScenarioFile, tree: Tree, folder: str) -> Iterator[Complaint]:
    """What is well formed by itself and does not fit the rest. Refused keys are skipped."""
    yield from _id_names_folder(file, tree, folder)
    yield from _parameters_exist(file, tree)
    yield from _probes_are_told_apart(file, tree)
    yield from _expected_probes_exist(file, tree)
    yield from _properties_are_listed_once(file, tree)
    yield from _properties_get_what_they_need(file, tree)
    yield from _buggy_fails_required(file, tree)
    yield from _criteria_are_told_apart(file, tree)


def _id_names_folder(file: ScenarioFile, tree: Tree, folder: str) -> Iterator[Complaint]:
    if file.id is not None and file.id != folder:
        sentence = f"the id {file.id} is not the name of its folder, {folder}"
        yield Complaint(tree.line_of(("id",)), sentence)


def _parameters_exist(file: ScenarioFile, tree: Tree) -> Iterator[Complaint]:
    if file.workload is not None:
        schema = WORKLOADS[file.workload.name]
        yield from complain(schema, file.workload.parameters, tree, ("workload", "parameters"))
    for i, probe in enumerate(file.probes or ()):
        base = file.workload.name if file.workload is not None else None
        name = probe.workload or base
        if name is not None:
            at = ("probes", i, "parameters")
            yield from complain(WORKLOADS[name], probe.parameters, tree, at)


def _probes_are_told_apart(file: ScenarioFile, tree: Tree) -> Iterator[Complaint]:
    names = [probe.name for probe in file.probes or ()]
    places: list[YamlPath] = [("probes", i, "name") for i in range(len(names))]
    yield from _repeated("probe", names, places, tree)


def _expected_probes_exist(file: ScenarioFile, tree: Tree) -> Iterator[Complaint]:
    if file.probes is None or file.expects is None:
        return
    names = [probe.name for probe in file.probes]
    for key, value in file.expects.model_dump().items():
        if key.endswith("_probe") and value is not None and value not in names:
            hint = did_you_mean(value, names)
            sentence = f"expects.{key}: there is no probe {value}{hint}"
            yield Complaint(tree.line_of(("expects", key)), sentence)


def _properties_are_listed_once(file: ScenarioFile, tree: Tree) -> Iterator[Complaint]:
    if file.properties is None:
        return
    lists = file.properties
    names: list[str] = []
    places: list[YamlPath] = []
    for key, listed in (("required", lists.required), ("advisory", lists.advisory)):
        names += listed
        places += [("properties", key, i) for i in range(len(listed))]
    names += lists.allows
    places += [("properties", "allows", name) for name in lists.allows]
    yield from _repeated("property", names, places, tree)


def _properties_get_what_they_need(file: ScenarioFile, tree: Tree) -> Iterator[Complaint]:
    from harness.properties import PROPERTIES

    if file.properties is None or file.expects is None:
        return
    given = file.expects.model_dump(exclude_defaults=True)
    for i, name in enumerate(file.properties.required):
        for need in PROPERTIES[name].expects:
            key = need.key.removeprefix("values.")
            known = given if key == need.key else given.get("values", {})
            if not {key, need.instead} & set(known):
                sentence = f"{name} needs expects.{need.key}; write `{need.write}`"
                yield Complaint(tree.line_of(("properties", "required", i)), sentence)


def _buggy_fails_required(file: ScenarioFile, tree: Tree) -> Iterator[Complaint]:
    failing = file.buggy_fails or ()
    yield from _repeated(
        "property", list(failing), [("buggy_fails", i) for i in range(len(failing))], tree
    )
    if file.properties is None:
        return
    for i, name in enumerate(failing):
        uncounted = (*file.properties.advisory, *file.properties.allows)
        if name in uncounted and name not in file.properties.required:
            sentence = f"buggy_fails: a failure of {name} does not count here (advisory or allowed)"
            yield Complaint(tree.line_of(("buggy_fails", i)), sentence)


def _criteria_are_told_apart(file: ScenarioFile, tree: Tree) -> Iterator[Complaint]:
    for name in file.rubric.must_not:
        if name in file.rubric.must:
            first = tree.line_of(("rubric", "must", name))
            sentence = f"the criterion {name} was already given on line {first}"
            yield Complaint(tree.line_of(("rubric", "must_not", name)), sentence)


def _repeated(
    noun: str, names: list[str], places: Iterable[YamlPath], tree: Tree
) -> Iterator[Complaint]:
    seen: Counter[str] = Counter()
    for name, place in zip(names, places, strict=True):
        if seen[name]:
            yield Complaint(tree.line_of(place), f"the {noun} {name} is listed twice")
        seen[name] += 1

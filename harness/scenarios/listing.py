"""What a bank holds, by its declarations alone: no program is parsed."""

from pathlib import Path

from pydantic import ValidationError

from harness.domain.listing import ListedScenario
from harness.scenarios.files import BankFiles, is_scenario
from harness.scenarios.yaml_tree import read_yaml


def listed(bank: Path) -> tuple[ListedScenario, ...] | None:
    """The scenarios of a bank in the order of a loaded one; ``None`` where a declaration cannot be
    read, which loading the bank tells with file and line.
    """
    try:
        files = BankFiles(bank.resolve())
        found = [_read(folder, files) for folder in bank.iterdir() if is_scenario(folder)]
    except (OSError, RuntimeError, ValidationError):
        return None
    known = {one.id for one in found}
    if files.problems or len(known) < len(found) or not found:
        return None
    return tuple(sorted(found, key=lambda one: (one.suite, one.id)))


def _read(folder: Path, files: BankFiles) -> ListedScenario:
    file = files.bank / folder.name / "scenario.yaml"
    tree = read_yaml(files.text(file, "what the scenario declares") or "")
    files.complain(file, *tree.complaints)
    return ListedScenario.model_validate(tree.value)

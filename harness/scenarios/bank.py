"""Reads a whole bank, and says everything that is wrong with it before anything runs."""

import os
from pathlib import Path

from harness.domain.scenario import Bank
from harness.scenarios.files import BankFiles
from harness.scenarios.folder import read_scenario
from harness.scenarios.problem import BankProblems
from harness.scenarios.yaml_tree import Complaint


def default_bank() -> Path:
    """The bank that was installed with the package, or that of this checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "bank" / "scenarios"
    return installed if installed.is_dir() else package.parent / "scenarios"


def load_bank(folder: Path) -> Bank:
    """Every scenario of a bank.

    Raises:
        BankProblems: all that is wrong with its files; the bank's author can repair it.
    """
    files = BankFiles(Path(os.path.realpath(folder)))  # `resolve` raises where a link is a circle
    found = [read_scenario(path, files) for path in _folders(files)]
    if files.problems:
        raise BankProblems(files.problems)
    scenarios = sorted((s for s in found if s is not None), key=lambda s: (s.suite, s.id))
    return Bank(scenarios=tuple(scenarios), digest=files.digest)


def _folders(files: BankFiles) -> list[Path]:
    bank = files.bank
    try:
        folders = sorted(p for p in bank.iterdir() if p.is_dir() and p.name[0] not in "._")
    except OSError as error:
        files.complain(bank, Complaint(0, f"no bank can be read here: {error.strerror}"))
        return []
    if (bank / "scenario.yaml").exists():
        files.complain(bank, Complaint(0, f"this is one scenario; the bank is {bank.parent}"))
        return []
    if (inside := bank / "scenarios").is_dir() and not any(
        (folder / "scenario.yaml").exists() for folder in folders
    ):
        files.complain(bank, Complaint(0, f"no bank, but there is one in it: {inside}"))
        return []
    if not folders:
        files.complain(bank, Complaint(0, "the bank holds no scenario: expected ID/scenario.yaml"))
    return folders

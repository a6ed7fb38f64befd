"""Reads a whole bank, and says everything that is wrong with it before anything runs."""

import os
from pathlib import Path

from harness import extensions
from harness.domain.scenario import Bank
from harness.extensions import default_bank
from harness.scenarios.files import BankFiles, is_scenario
from harness.scenarios.folder import read_scenario
from harness.scenarios.problem import BankProblems
from harness.scenarios.yaml_tree import Complaint

__all__ = ["default_bank", "load_bank"]

ALIEN = (
    "this bank brings code that would run outside the jail; read it, and then say --trust-bank "
    "(trust_bank=True from Python)"
)


def load_bank(folder: Path, *, trust: bool = False) -> Bank:
    """Every scenario of a bank.

    Args:
        folder: the bank.
        trust: whether properties and workloads that it brings may be loaded, which is code.

    Raises:
        BankProblems: all that is wrong with its files; the bank's author can repair it.
        UserError: its code, or what an installed package adds, cannot be loaded.
    """
    files = BankFiles(Path(os.path.realpath(folder)))  # `resolve` raises where a link is a circle
    if trust:
        extensions.trust(files.bank)
    extensions.load_installed()
    _load_code(files)
    found = [read_scenario(path, files) for path in _folders(files)]
    if files.problems:
        raise BankProblems(files.problems)
    scenarios = sorted((s for s in found if s is not None), key=lambda s: (s.suite, s.id))
    return Bank(scenarios=tuple(scenarios), digest=files.digest)


def _load_code(files: BankFiles) -> None:
    """What the bank brings beside its scenarios, where it is trusted."""
    code = extensions.code_of(files.bank)
    for file in code:
        files.text(file, "code of the bank")
    if code and extensions.is_trusted(files.bank):
        extensions.load_code(files.bank)
    elif code:
        files.complain(code[0], Complaint(0, ALIEN))
        raise BankProblems(files.problems)


def _folders(files: BankFiles) -> list[Path]:
    bank = files.bank
    try:
        folders = sorted(p for p in bank.iterdir() if is_scenario(p))
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

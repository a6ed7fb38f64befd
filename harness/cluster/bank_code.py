"""The code that banks bring, as it travels to a node: properties and workloads of trusted banks."""

import hashlib
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from harness import extensions
from harness.domain.errors import HarnessFault


@dataclass(frozen=True, slots=True)
class BankCode:
    """The files of one bank."""

    digest: str
    """Of all of them."""
    files: tuple[tuple[str, str], ...]
    """Path below the bank, and text, of each."""


def code_to_send() -> tuple[BankCode, ...]:
    """That of every bank that may be loaded here."""
    found = (_code_in(bank) for bank in extensions.banks())
    return tuple(code for code in found if code.files)


def load(sent: tuple[BankCode, ...], until: ExitStack) -> None:
    """Add what arrived, to this process and to those that it starts.

    Raises:
        HarnessFault: something else arrived.
        UserError: it cannot be imported here.
    """
    extensions.load_installed()
    home = extensions.default_bank()
    for code in sent:
        if _digest(code.files) != code.digest:
            raise HarnessFault("the code of a bank that arrived here is not what was sent")
        if code == _code_in(home):
            extensions.load_code(home)
            continue
        folder = Path(until.enter_context(tempfile.TemporaryDirectory(prefix="harness-bank-")))
        for name, text in code.files:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        extensions.trust(folder)
        extensions.load_code(folder)


def _code_in(bank: Path) -> BankCode:
    parts = (extensions.WORKLOADS, extensions.PROPERTIES)
    found = sorted(path for part in parts for path in (bank / part).glob("*.py"))
    files = tuple((f"{p.parent.name}/{p.name}", p.read_text(encoding="utf-8")) for p in found)
    return BankCode(_digest(files), files)


def _digest(files: tuple[tuple[str, str], ...]) -> str:
    return hashlib.sha256("\0".join(part for file in files for part in file).encode()).hexdigest()

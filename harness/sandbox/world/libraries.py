"""Names of libraries that nobody imported."""

from typing import Any

from harness.sandbox import extras
from harness.sandbox.absent import standins
from harness.sandbox.absent.imports import lend_known
from harness.sandbox.absent.inert import Inert, install_progress
from harness.sandbox.frameworks import packages
from harness.sandbox.machine.amp import posted_autocast
from harness.sandbox.names.table import libraries as by_name
from harness.sandbox.unbound import Unbound
from harness.sandbox.world.lending import Lender
from harness.sandbox.world.reading import ProgramReading


def is_one(name: str, lender: Lender) -> bool:
    """Whether a free name is that of a library; a name of the table that a program calls is not."""
    if name == "Trainer":
        named = "TrainingArguments" in lender.reading.mentioned
        return named or "transformers" in lender.reading.imported
    if name not in by_name() or name in lender._known:
        return False
    if name.startswith("Auto") and extras.absent("transformers") is not None:
        return False  # what it would load is lent
    if lender.values.parts and lender.values.parts.is_network(name.lower()):
        return False
    if name == "Dataset" and name in lender.reading.called:
        return False
    ambiguous = lender.table.find(name) is not None or name == "field"
    return not ambiguous or _fits(name, lender.reading)


def packages_of(lender: Lender) -> set[str]:
    """The packages of the free names that are libraries'."""
    names = (name for name in lender.reading.free if is_one(name, lender))
    return {path_of(name).partition(".")[0] for name in names}


def _fits(name: str, reading: ProgramReading) -> bool:
    seen = reading.named.get(name)
    return packages.fits(by_name()[name], seen.fields if seen is not None else set())


def path_of(name: str) -> str:
    """Where it is imported from."""
    return "transformers.Trainer" if name == "Trainer" else by_name()[name]


def object_of(name: str) -> Any:
    """The object itself. Raises ``Unbound`` where its package is not here."""
    path = path_of(name)
    top = path.partition(".")[0]
    if (needs := extras.absent(top)) is not None:
        raise Unbound(name, needs)
    if top in ("wandb", "mlflow") or "tensorboard" in path:
        return Inert()
    if top == "tqdm":
        install_progress()
    if top in standins.PARTS:
        lend_known(top)
    if name == "autocast":
        return posted_autocast
    try:
        return packages.lookup(path)
    except (ImportError, AttributeError) as error:
        raise Unbound(name, f"is not here: {error}") from error

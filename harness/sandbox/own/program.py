"""A program that brings its own world: prepared, run, and told of what was lent to it."""

import ast
import contextlib
import functools
import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from harness.beside import PackedProgram, parsed_modules, together, unpacked
from harness.domain.injection import Injection
from harness.sandbox import extras
from harness.sandbox.absent import (
    arrays,
    checkpoints,
    documents,
    downloads,
    files,
    hub,
    missing,
    pictures,
    present,
    settings,
    sounds,
    tables,
)  # fmt: skip
from harness.sandbox.absent.imports import OWN, lend_packages, paths_in
from harness.sandbox.absent.inert import install_progress
from harness.sandbox.absent.lent import all_lent, doubted, guessed, lend
from harness.sandbox.absent.settings import argument, compared_words
from harness.sandbox.absent.shown import ShownByProgram
from harness.sandbox.batches.callers import FILENAME
from harness.sandbox.frameworks import fabric, huggingface, lightning, trainer
from harness.sandbox.machine import arguments, cuda, devices, distributed, removed, sharding
from harness.sandbox.machine.arguments import PLACE
from harness.sandbox.order import WorkOrder
from harness.sandbox.own import resuming
from harness.sandbox.own.milestones import come_soon
from harness.sandbox.own.modules import Repository
from harness.sandbox.own.patience import Patience
from harness.sandbox.own.phases import LOOP, Phases, with_phases
from harness.sandbox.own.shortening import WINDOWS, OnBatch, Shortening, window_of
from harness.sandbox.own.shrinking import evaluate_soon, lowered, lowered_words, shrink
from harness.sandbox.own.sizes import passes_in
from harness.sandbox.ready import ReadyProgram, compiled, namespace
from harness.sandbox.unbound import NameScouted, Unbound, no_input, parsed
from harness.syntax import source_of, walk

FOLDER = "a/repository/of/programs"
"""Where it runs: programs write into folders above their own."""

NOT_HERE = "is a file that is not here"
ELSEWHERE = "lies elsewhere, where nothing may be read; give its folder, `--data DIR`"
GIVEN = (*devices.LENT, "input", "open")
"""Names that are lent to the program, and to each of its files."""


BATCHES = 4
"""How many windows of a pass Lightning trains on, where the program sets no limit."""

EPOCHS = 3
"""How many passes such a framework makes, where the program asks for more."""


def prepare(
    program: str, rank: int, world_size: int, on_batch: OnBatch, order: WorkOrder
) -> ReadyProgram:
    """Make a program ready that needs nothing but packages and files.

    ``on_batch``: is told of the batches of its loaders. ``order``: whether sizes that are too large for
    a CPU are lowered, whether passes are short, and what first runs showed about data that are not
    here.
    """
    packed = _packed(program, shrunk=order.shrunk)
    tree, modules = parsed(packed.code, FILENAME), parsed_modules(packed)
    everything = together([tree, *modules.values()])
    notes = evaluate_soon(everything) + come_soon(everything)
    if order.shrunk:
        notes += shrink(everything)
    phases = Phases(tree, FILENAME)
    patience = _patience(world_size, phases, order)
    windows = 1 if order.many_passes else WINDOWS
    shortening = Shortening(everything, patience, on_batch, shrunk=order.shrunk, windows=windows)
    shortening.install()
    module = namespace(
        __file__="candidate.py", __package__=packed.package or OWN, input=no_input,
        open=files.opened, **devices.LENT,
    )  # fmt: skip
    vars(module)[LOOP] = lambda: phases
    given = {name: vars(module)[name] for name in GIVEN}
    own = Repository(packed.modules, modules, os.path.abspath(FOLDER), FILENAME, given)
    shown = ShownByProgram.of(everything, order.known)
    _lend(shown, own)
    install_frameworks(everything, world_size)
    sys.argv = CommandLine(["candidate.py", *packed.arguments, *_as_used(shown.known)])
    _environment(module, rank, world_size, shown)
    notes += present.lay(order.files)
    files.install(shown, *[lowered] * order.shrunk)
    source = source_of(tree)  # before it has marks
    code, left_out = compiled(with_phases(tree) if phases.several else tree)
    return ReadyProgram(
        module=module,
        code=code,
        source=source,
        journal=notes,
        patience=patience,
        around=functools.partial(_what_is_missing, patience),
        after=functools.partial(_after, shortening.declared),
        untaken=left_out,
        passes=passes_in(everything),
    )


def _packed(program: str, *, shrunk: bool) -> PackedProgram:
    found = unpacked(program)
    return replace(found, arguments=(*lowered_words(found.arguments),)) if shrunk else found


class CommandLine(list[str]):
    """What a program was started with. A word that it takes for granted is the name of a file."""

    def __getitem__(self, index: Any) -> Any:
        """``len`` says what is there, so that whoever asks first gets nothing that is lent."""
        if isinstance(index, int) and index >= len(self):
            lend(f"sys.argv[{index}]: {PLACE}")
            return PLACE
        return super().__getitem__(index)


def install_frameworks(tree: ast.Module, world_size: int) -> None:
    """Patch those that the program imports."""
    paths = paths_in(walk(tree))
    notes: list[str] = []
    if any(p.startswith(sharding.PACKAGE) for p in paths):
        sharding.install()
    faces = any(p.partition(".")[0] in ("accelerate", "transformers") for p in paths)
    if faces and extras.absent("accelerate") is None:
        huggingface.install(["accelerate.Accelerator"])
    if any(p.startswith("transformers") for p in paths):
        hub.install()
        if extras.absent("transformers") is None:
            trainer.install(EPOCHS, notes, own_data=True)
    used = [p for p in paths if p.partition(".")[0] in lightning.INSTALLED]
    if used and extras.is_here("lightning"):
        lightning.install(used, EPOCHS, notes, world_size, _batches(tree))
        if any("fabric" in p.lower() for p in used) or any(p == "lightning" for p in used):
            for name in fabric.TREES:
                fabric.install(world_size, name)


def _patience(ranks: int, phases: Phases, order: WorkOrder) -> Patience:
    several = phases if phases.several and not order.resumes else None
    again = order.injection != Injection()
    return Patience(ranks, several, many_passes=order.many_passes, again=again)


def _lend(shown: ShownByProgram, own: Repository) -> None:
    """Stand in for packages and data that are not here."""
    downloads.install()
    lend_packages(shown.tree, own.tops)
    own.install()
    for absent in (tables, arrays, documents, pictures, sounds):
        absent.install(shown)
    devices.map_calls(shown.tree, bare=False)


def _after(declared: int | None) -> dict[str, object]:
    """What was lent to a program, and its windows."""
    return {
        "lent": all_lent(),
        "accumulates_over": declared,
        "grouped": distributed.is_asked_for(),
        "options": arguments.left_off(),
        "ranks": distributed.ranks_asked_for(),
        "resumption": resuming.found(),
    }


@contextlib.contextmanager
def _what_is_missing(patience: Patience) -> Iterator[None]:
    """Say of a file or a package that is not here what it is, instead of how its absence was met."""
    try:
        yield
    except SystemExit as error:
        ended = type(error) is SystemExit and (error.code or not patience.updates)
        found = (files.learned(error) or arguments.learned(error)) if ended else None
        found = found or _usage(error)
        if found is None:
            raise
        raise NameScouted(*found) from error
    except Exception as error:
        said = _said_of(error)
        if said is None:
            raise
        raise said from error
    if not patience.updates and (shown := files.too_short()):
        raise NameScouted(*shown)


USED_AS = "command line"
"""Under this name it is known which words a program says that it is started with."""

OF_FILES = re.compile(r"(?<![\w.])[\w/-]+\.(?!py\b)[a-z]\w*")
"""Names of files in what a program says of its use."""


def _usage(error: SystemExit) -> tuple[str, str] | None:
    """The files that a program asks for as it ends, where it was started without any word."""
    said = error.code if isinstance(error.code, str) else ""
    words = OF_FILES.findall(said.partition("[")[0]) if "usage" in said.lower() else []
    return (USED_AS, " ".join(words)) if words and len(sys.argv) == 1 else None


def _as_used(known: Mapping[str, str]) -> list[str]:
    words = known.get(USED_AS, "").split()
    for word in words:
        lend(f"{word}: a word of its command line, as it says itself")
    return words


def _said_of(error: Exception) -> BaseException | None:
    """What is to be said instead; ``None``: nothing."""
    absent = isinstance(error, FileNotFoundError | Unbound)
    if shown := (files.learned(error) if absent else settings.learned(error)):
        return NameScouted(*shown)
    if isinstance(error, OSError) and (said := _of_a_file(error)):
        return said
    if isinstance(error, ModuleNotFoundError):
        return Unbound(error.name or str(error), "is a package that is not here")
    if type(error).__name__ == "ConnectionError":  # Python's own, or that of requests
        return Unbound("the program", f"needs a network: {error}")
    try:
        return None if isinstance(error, Unbound) else _of_absent_data(error)
    except BaseException:  # noqa: BLE001 - its text may be the program's own code
        return None


def _of_a_file(error: OSError) -> Unbound | None:
    """What is to be said of a file that is not here, or may not be read."""
    name = str(error.filename or error)
    if isinstance(error, FileNotFoundError):
        name = name.removesuffix(" not found.")  # as numpy words it
        return Unbound(os.path.basename(name.rstrip("/")) or name, NOT_HERE)
    elsewhere = isinstance(error, PermissionError) and os.path.isabs(name)
    return Unbound(name, ELSEWHERE) if elsewhere else None


def _of_absent_data(error: Exception) -> BaseException | None:
    """What is to be said of a failure where something was lent whose form was guessed."""
    asked = (arguments,) if tables.of_the_data(error) else ()
    for lent in (*asked, documents, files, tables, pictures, arrays):
        if found := lent.learned(error):
            return NameScouted(*found)
    if doubted() and "num_samples=0" in str(error):
        return Unbound(doubted()[-1], NOT_HERE)
    if guessed() and tables.of_the_data(error):
        return Unbound(
            guessed()[0], f"{NOT_HERE}, and what was lent by chance does not fit ({error})"
        )
    if checkpoints.asked_for() and isinstance(error, files.UNFIT):
        return Unbound(checkpoints.asked_for()[0], NOT_HERE)  # what is in it was needed
    return missing.needed_by(error)


def _environment(module: ModuleType, rank: int, world_size: int, shown: ShownByProgram) -> None:
    os.makedirs(FOLDER, exist_ok=True)
    os.chdir(FOLDER)
    distributed.environment(rank, world_size)
    cuda.told(local_rank=rank, count=world_size)
    cuda.clock_of(module)
    supply = functools.partial(argument, words=compared_words(shown.tree))
    arguments.supplied_by(supply, shown.known)
    vars(os)["popen"] = lambda *_, **__: io.StringIO("24 80")  # most ask for a terminal's size
    removed.install()
    install_progress()
    checkpoints.install()
    settings.install(shown)


def _batches(tree: ast.Module) -> int | None:
    """A limit of whole windows; none where a program counts batches itself, nobody knows to what."""
    by_itself = "automatic_optimization" in source_of(tree)
    return None if by_itself and window_of(tree) == 1 else BATCHES * window_of(tree)

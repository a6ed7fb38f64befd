"""Command lines: a program that parses arguments gets those that it is run with, and every other option
has its default.

What is required gets a value that fits: the first of its choices, a number or a word by its name and
type; so does an option without a default at which a first run failed. Of several commands the one that
trains is meant, and a switch of that name is on. Options that change how gradients are managed
and are off are written down, so that the program can be run with them as well.
"""

import argparse
import dis
import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from harness.sandbox.batches.callers import FILENAME

LISTED = re.compile(r"\w+(?=\s*[|])|(?<=[|])\s*\w+")
"""Words of a help text that lists what may be given: ``cifar10 | mnist | fake``."""

KNOWN = ("fake", "fakedata", "cifar10", "mnist")
"""Those that can be had anywhere."""

FILE = re.compile(
    r"[\w./*-]*\.(csv|tsv|jsonl?|txt|npy|npz|parquet|ya?ml|pkl|png|jpe?g|wav|bin|pt)\b",
    re.IGNORECASE,
)
"""A file, or a pattern of files, that a help text gives as an example."""

KIND = re.compile(r".*?(csv|tsv|jsonl|json|txt|npy|npz|parquet|yaml)s?")
"""What kind of file an option takes, by its name: ``train_tsv``."""

WRITTEN = re.compile(r".*(out|save|dest|result|log|ckpt|checkpoint).*")
"""Options of files and folders that are written."""

DATA = re.compile(r"data_?(root|dir|path|folder)")
"""Options without which no program trains, be they required or not."""

TRAINS = re.compile(r"(do_?|is_?)?train(ing)?")
"""Switches without which a program does something else."""

ASKED, ABOVE = "option ", 2
"""What begins the names of options that a failure showed to be needed, and how many lines above the one
that failed are looked at for their names.
"""

LONG = 8
"""Words of more letters than this name a switch by themselves: ``distributed``."""

PRECISION = re.compile(r"(use_?|enable_?|with_?)?(amp|fp16|half|mixed_?(precision)?|precision)")
"""Options that switch mixed precision on, by their names."""

ACCUMULATES = re.compile(r"\w*accum\w*")
"""Options that say over how many micro-batches a gradient is accumulated."""

CLIPS = re.compile(r"\w*clip\w*|max_(grad_)?norm")
"""Options that bound gradients."""

RANKS = re.compile(r"world_?size|((n|nr|num)_?)?(gpus?|procs?|processes|ranks)|nproc\w*")
"""Options that say on how many ranks it trains."""

FULL = (None, False, "no", "none", "fp32", "float32", "32")
"""Defaults of precisions that are full."""

HALF = ("fp16", "float16", "half", "amp", "16-mixed", "16")
"""What a choice of precision is set to."""

RESUMES = re.compile(
    r"(auto_?)?(resume|continue|restart)(_\w+)?|(load|start|init)_?(ckpt|checkpoint)"
)
"""Options that have a program go on from what it saved."""

MOST = 8
"""Most options that are written down."""

PLACE = "data"
"""What an option is supplied with of which nothing is known: a file or a folder."""

UNGIVEN = (None, "")
"""Defaults of options that have to be given."""

UNSAID = object()
"""Stands for what a command line does not say, until it is lent."""

_off: dict[str, None] = {}


def left_off() -> tuple[str, ...]:
    """What turns on the options that were off: ``--amp``, ``--accum=4``."""
    return tuple(_off)[:MOST]


_going_on: list[Any] = []
"""Options that were met and have a program go on from what it saved."""
_taken_up: list[str] = []
"""What it is to go on from, if anything."""


def resume(path: str) -> bool:
    """From now on, have the program go on from what it saved there; nothing is there if it is empty.
    Returns whether it has an option for that.
    """
    _taken_up.append(path)
    return bool(_going_on)


def _resuming(action: Any) -> list[str]:
    """How it is told to; nothing where the option is no such one, or names a file by itself."""
    named = next((o for o in action.option_strings if o.startswith("--")), None)
    if named is None or action.default or not RESUMES.fullmatch(action.dest):
        return []
    _going_on.append(action)
    if not _taken_up or action.nargs == 0:
        return [named] * len(_taken_up)
    takes = action.type not in (int, float) and not action.choices and _taken_up[-1]
    return [f"{named}={_taken_up[-1]}"] if takes else []


_supply: Callable[[str], Any] = lambda name: None  # noqa: E731 - replaced by ``supplied_by``
_known: set[str] = set()
_switches: list[str] = []
"""Switches that were off."""
_unsaid: set[str] = set()
"""Options that have no default and were not given."""


def supplied_by(supply: Callable[[str], Any], known: Iterable[str] = ()) -> None:
    """Get the values of required arguments from ``supply``, by name. ``known``: what first runs
    showed.
    """
    global _supply  # noqa: PLW0603 - one candidate a process
    _supply = supply
    _known.update(known)


def learned(error: BaseException) -> tuple[str, str] | None:
    """Which option a failure shows to be needed, under a name; ``None``: none."""
    trace, found = error.__traceback__, None
    while trace is not None:
        code, line = trace.tb_frame.f_code, trace.tb_lineno
        if code.co_filename.startswith(FILENAME):
            here = [i for i in dis.get_instructions(code) if i.offset <= trace.tb_lasti]
            near = [i for i in here if i.positions and line - ABOVE <= (i.positions.lineno or 0)]
            found = next((i.argval for i in reversed(near) if i.argval in _unsaid), found)
        trace = trace.tb_next
    found = found or _switch_named_by(error)
    name = f"{ASKED}{found}"
    return None if found is None or name in _known else (name, "asked for")


def _switch_named_by(error: BaseException) -> str | None:
    """The switch without which a program says that it does nothing, by a word of its name."""
    said = str(error).lower() if isinstance(error, NotImplementedError) else ""
    return next(
        (
            name
            for name in _switches
            for word in name.split("_")
            if len(word) > LONG and word in said
        ),
        None,
    )


_ARGPARSES_OWN = argparse.ArgumentParser.parse_known_args


def as_given() -> None:
    """Parse arguments as they are given: for who really has a command line."""
    setattr(argparse.ArgumentParser, "parse_known_args", _ARGPARSES_OWN)  # noqa: B010 - mypy refuses to assign


def install() -> None:
    """Patch argparse."""
    original = argparse.ArgumentParser.parse_known_args

    @functools.wraps(original)
    def parse_known_args(self: Any, args: Any = None, namespace: Any = None) -> Any:
        namespace = namespace or argparse.Namespace()
        given = sys.argv[1:] if args is None else [*args]
        _off.update(dict.fromkeys(filter(None, (_turned_on(one, given) for one in self._actions))))
        given += [word for one in self._actions for word in _resuming(one)]
        given += [word for one in self._actions for word in _training(one, given)]
        commands = [a for a in self._actions if isinstance(a, argparse._SubParsersAction)]
        given += [_command(one) for one in commands if not {*given} & {*one.choices}]
        lent = [one for one in self._actions if one not in commands and _is_wanted(one)]
        vars(namespace).update({action.dest: UNSAID for action in lent})
        found = original(self, given, namespace)
        _lend(lent, found[0])
        _unsaid.update(name for name, value in vars(found[0]).items() if value in UNGIVEN)
        return found

    argparse.ArgumentParser.parse_known_args = parse_known_args  # type: ignore[method-assign]  # what it is here for
    _of_click()


def _is_wanted(action: Any) -> bool:
    """Whether it has to be lent what nobody says; from now on none is required."""
    positional = not action.option_strings and action.nargs not in ("?", "*")
    wanted = action.required or positional or DATA.fullmatch(action.dest) is not None
    wanted = wanted or f"{ASKED}{action.dest}" in _known
    action.required = False
    action.nargs = "?" if positional else action.nargs
    if not wanted or action.default not in UNGIVEN:
        return False
    action.default = UNSAID
    return True


def _lend(actions: Iterable[Any], namespace: Any) -> None:
    """Give what was asked for and the command line does not say."""
    for action in actions:
        action.default = None
        if getattr(namespace, action.dest) is UNSAID:
            action.default = _value(action)
            setattr(namespace, action.dest, action.default)


def _of_click() -> None:
    """The same for what click asks for."""
    try:
        parameter = importlib.import_module("click.core").Parameter
    except ImportError:
        return
    original = parameter.get_default

    @functools.wraps(original)
    def get_default(self: Any, *asked_by: Any, **how: Any) -> Any:
        found = original(self, *asked_by, **how)
        if not self.required or isinstance(found, str | int | float):
            return found
        if getattr(self.type, "exists", False):
            return "."  # a folder that is here
        kinds = {"integer": int, "float": float}
        asked = SimpleNamespace(
            dest=self.name, choices=getattr(self.type, "choices", None), nargs=None,
            help=getattr(self, "help", ""), type=kinds.get(self.type.name, str),
        )  # fmt: skip
        return _value(asked)

    parameter.get_default = get_default


def _turned_on(action: Any, given: list[str]) -> str | None:
    """How an option that is off is turned on; ``None`` where it is given, or manages no gradients."""
    named = next((o for o in action.option_strings if o.startswith("--")), None)
    stands = any(one.partition("=")[0] in action.option_strings for one in given)
    if named is None or stands:
        return None
    if PRECISION.fullmatch(action.dest) and action.default in FULL:
        half = next((one for one in HALF if one in (action.choices or ())), None)
        return named if action.nargs == 0 else f"{named}={half}" if half is not None else None
    one = (None, 0, 1)
    numbers = ((ACCUMULATES, int, one, "4"), (RANKS, int, one, "2"), (CLIPS, float, one[:2], "1.0"))
    fitting = (
        f"{named}={value}" for pattern, kind, off, value in numbers
        if pattern.fullmatch(action.dest) and action.type is kind and action.default in off
    )  # fmt: skip
    return next(fitting, None)


def _training(action: Any, given: list[str]) -> list[str]:
    """How a switch is turned on that has a program train, be it that it says so; nothing where it is
    given, or is none.
    """
    named = next((o for o in action.option_strings if o.startswith("--")), None)
    if (
        named is None
        or action.default is not False
        or action.nargs not in (0, "?")
        or named in given
    ):
        return []
    _switches.append(action.dest)
    asked = f"{ASKED}{action.dest}" in _known
    return [named] if asked or TRAINS.fullmatch(action.dest) else []


def _command(commands: Any) -> str:
    """The command that trains, or the first."""
    names = [str(name) for name in commands.choices]
    return next((name for name in names if "train" in name or "fit" in name), names[0])


def _value(action: Any) -> Any:
    """What a required argument is given; a list where it takes several."""
    one = _one(action)
    if action.nargs in (None, "?"):
        return one
    return [one] * (action.nargs if isinstance(action.nargs, int) else 1)


def _place(action: Any) -> str:
    """A file or folder: what the help gives as an example, or its kind by the option's name."""
    if WRITTEN.fullmatch(action.dest):
        return "out"
    example, kind = FILE.search(action.help or ""), KIND.fullmatch(action.dest)
    return example[0] if example else f"{PLACE}.{kind[1]}" if kind else PLACE


def _one(action: Any) -> Any:
    if action.choices:
        return next(iter(action.choices))
    listed = [word.lower() for word in LISTED.findall(action.help or "")]
    if (known := next((word for word in KNOWN if word in listed), None)) is not None:
        return known
    found = _supply(action.dest)
    if found == PLACE:
        found = _place(action)
    kind = action.type
    if kind in (int, float, str) and not isinstance(found, kind):
        try:
            return kind(found)
        except (TypeError, ValueError):
            return {int: 1, float: 0.1, str: action.dest}[kind]
    return kind(found) if callable(kind) and isinstance(found, str) else found

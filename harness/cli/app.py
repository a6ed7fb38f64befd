"""The application: how every command is guarded, and the options that several of them share."""

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from harness import __version__
from harness.cli.lacks import lacking
from harness.domain.errors import UsageError, UserError, in_words, reason
from harness.report.console import Output
from harness.untrusted import in_time

if TYPE_CHECKING:  # a record takes its time to be made, and `harness list` needs none of these
    from harness.cluster.engine import Cluster
    from harness.domain.instruments import OpenInstruments
    from harness.domain.outcome import Fault
    from harness.domain.scenario import Bank

OURS = "harness: this is a fault of the harness, not of the bank or of a program that it judged"


FILES = {
    "run": "run",
    "list": "listing",
    "show": "listing",
    "compare": "compare",
    "triggers": "triggers",
    "check": "check",
    "quality": "check",
    "grade": "grade",
    "explain": "grade",
    "regrade": "grade",
    "calibrate": "calibrate",
    "init": "init",
    "cache": "cache",
    "doctor": "doctor",
    "names": "doctor",
    "report": "report",
    "view": "report",
}
"""Where each command is, in the order of the help page. Its file is imported when it is called."""


class _OneSentence(TyperGroup):
    """Says in one sentence what is wrong with a command line, and owns up to our own faults."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Only what is called is imported; all of it for a name that is none, to suggest another."""
        self._import([FILES[cmd_name]] if cmd_name in FILES else FILES.values())
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            _name_no_type(found.get_help_option(ctx))
            params: list[Any] = found.params
            for param in params:
                _say_plainly(param)
        return found

    def get_params(self, ctx: Any) -> Any:
        """Those of the group itself."""
        params = super().get_params(ctx)
        for param in params:
            _name_no_type(param)
        return params

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - its parent's signature
        """All of them."""
        self._import(FILES.values())
        return list(FILES)

    def _import(self, files: Iterable[str]) -> None:
        for file in dict.fromkeys(files):
            import_module(f"harness.cli.{file}")
        self.commands = typer.main.get_group(app).commands

    def main(  # type: ignore[override]  # the parent's signature is twice as long and all `Any`
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> int:
        code = _guard(
            lambda: super(_OneSentence, self).main(
                args, prog_name or "harness", standalone_mode=False, **extra
            )
        )
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> Any:
        """Commands that tell what was finished catch Ctrl-C themselves; the others say that it came."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            Output(stderr=True).text("harness: interrupted")
            raise


def _name_no_type(option: Any) -> None:
    """A switch that typer makes takes no ``<bool>``, whatever its page of help would say."""
    if option is not None and option.is_flag:
        option.metavar = ""


def _say_plainly(param: Any) -> None:
    """No type behind the name of an argument, and no ``0<=x<=65535`` behind an option's."""
    if param.param_type_name == "argument":
        param.display_type_rich = lambda ctx: None  # noqa: ARG005 - as typer calls it
    else:
        bounds = between(param.min, param.max)
        param._get_number_range_help_str = lambda: bounds  # noqa: SLF001 - what typer prints


def between(least: float | None, most: float | None) -> str | None:
    """``1 to 6``, ``0 or more``."""
    if least is None:
        return None if most is None else f"at most {_plain(most)}"
    return f"{_plain(least)} or more" if most is None else f"{_plain(least)} to {_plain(most)}"


def _plain(number: float) -> str:
    return str(int(number) if number == int(number) else number)


BOXES = 60
"""Columns of a terminal below which the boxes of a help page cut names of options off."""

app = typer.Typer(
    cls=_OneSentence,
    rich_markup_mode="rich" if get_terminal_size().columns >= BOXES else None,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def flag(name: str, help_: str) -> Any:
    """An option without a value."""
    return typer.Option(name, metavar="", help=help_)


def valued(*names: str, metavar: str, help: str, **more: Any) -> Any:  # noqa: A002 - as typer says
    """An option with a value, of whose default its page of help is silent."""
    return typer.Option(*names, metavar=metavar, help=help, show_default=False, **more)


BankOption = Annotated[
    Path | None,
    valued("--bank", metavar="DIR", help="Use this bank: a folder of ID/scenario.yaml."),
]
TrustOption = Annotated[
    bool, flag("--trust-bank", "Run the bank's own properties and workloads, outside the jail.")
]
ScenariosOption = Annotated[
    list[str] | None,
    typer.Option(
        "--scenario", metavar="ID[,ID]|all", help="Only these scenarios, by id.", show_default="all"
    ),
]
SuiteOption = Annotated[
    str | None, valued("--suite", metavar="SUITE", help="Only the scenarios of this suite.")
]
JsonOption = Annotated[bool, flag("--json", "Print JSON.")]
PlainOption = Annotated[bool, flag("--plain", "Plain text: no colours, no boxes.")]
VerboseOption = Annotated[bool, flag("--verbose", "Show every verdict with its numbers.")]
JobsOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="How many programs run at the same time.", show_default="cores"
    ),
]
LOCAL = "local"
"""The engine that is this machine alone."""

EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Where programs run: local, ray (RAY_ADDRESS, or this machine) or ray://HOST:PORT.",
    ),
]
OutOption = Annotated[
    Path | None,
    valued(
        "--out", metavar="RUN", help="Store the run in this folder; go on with one that is there."
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        min=0, max=2**32 - 1, metavar="N", help="A number added to the seed of every workload."
    ),
]
AllowOption = Annotated[
    list[str] | None,
    valued(
        "--allow",
        metavar="ID[=REASON]",
        help="Call nothing wrong for this property: its id, and why. May be given again.",
    ),
]
StrictOption = Annotated[
    bool, flag("--strict", "Exit with 4 if anything is inconclusive or has no code.")
]

JudgeOption = Annotated[
    str,
    typer.Option(
        "--judge",
        metavar="JUDGE",
        help="Who reads what execution cannot decide: none (the default), anthropic:MODEL, openai:MODEL,"
        " command:'...' or replay:DIR.",
    ),
]


@app.callback(invoke_without_command=True)
def _harness(
    context: typer.Context,
    version: Annotated[bool, flag("--version", "Print the version.")] = False,
) -> None:
    """Judge advice about training loops by executing it."""
    if version:
        Output().text(f"harness {__version__}")
    elif context.invoked_subcommand is None:
        with redirect_stdout(sys.stderr):
            page = context.get_help()  # rich prints it here, and gives back nothing
        if page:
            Output(stderr=True).text(page)
        raise typer.Exit(2)


def write_file(path: Path, text: str) -> None:
    """Write what a command was told to write. Where that fails, an older file stays as it was.

    Raises:
        UsageError: it cannot be written there.
    """
    from harness.store.whole import write_whole

    try:
        if _can_be_replaced(path):
            write_whole(Path(os.path.realpath(path)), text.encode())
        else:
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {reason(error)}") from error


def _can_be_replaced(path: Path) -> bool:
    """No pipe, no device, not where this process prints, and there may be another file beside it.

    Raises:
        OSError: it may not be written.
    """
    if not path.exists():
        return True
    if not path.is_file() or _is_a_stream(path):
        return False
    path.open("ab").close()
    return os.access(Path(os.path.realpath(path)).parent, os.W_OK)


def _is_a_stream(path: Path) -> bool:
    """``/dev/stdout`` of a shell that redirects it."""
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return True
    return False


def cores(jobs: int | None, context: typer.Context | None = None, engine: str = LOCAL) -> int:
    """How many executions at the same time; on a cluster, those of all its nodes."""
    from harness.cli.configuring import configuration

    if context is not None and context.obj is None and engine != LOCAL:
        return cluster(context, engine, jobs).cores
    return jobs or configuration().jobs or os.cpu_count() or 1


def instruments(
    context: typer.Context,
    jobs: int | None = None,
    *,
    ahead: bool = True,
    engine: str = LOCAL,
    data: Sequence[Path] | None = None,
) -> "OpenInstruments":
    """What opens the instruments. ``ahead``: they are needed in any case, so the real ones begin to
    warm up now; they end with the command. ``data``: folders that programs may read.
    """
    for folder in data or ():
        if not folder.is_dir():
            raise UsageError(f"--data {folder}: there is no such folder")
    if data and engine != LOCAL:
        raise UsageError(f"--data is read on this machine; expected --engine {LOCAL}")
    from harness.instruments import jail_ahead, jail_and_oracle

    if context.obj is not None:
        given: OpenInstruments = context.obj
        return given
    if engine != LOCAL:
        return cluster(context, engine, jobs).open_instruments
    return context.with_resource(jail_ahead(cores(jobs), data or ())) if ahead else jail_and_oracle


def cluster(context: typer.Context, engine: str, jobs: int | None) -> "Cluster":
    """The cluster that a command works on, for as long as the command."""
    from harness.cluster.engine import connected

    if _CLUSTER not in context.meta:
        say = Output(stderr=True).text
        opened = connected(engine, jobs, lambda sentence: say(f"harness: {sentence}"))
        context.meta[_CLUSTER] = context.with_resource(opened)
    found: Cluster = context.meta[_CLUSTER]
    return found


_CLUSTER = "harness.cluster"


def load(
    folder: Path | None, scenario: list[str] | None = None, suite: str | None = None
) -> "Bank":
    """The bank that was named, on the command line or in ``pyproject.toml``, or the harness's own; of
    it, the scenarios of these names and of this suite.
    """
    from harness.scenarios import load_bank
    from harness.scenarios.selection import select

    place = bank_folder(folder)
    with in_time(place):
        bank = load_bank(place)
    return select(bank, ",".join(scenario or ["all"]), suite)


def trusted(bank: Path | None, *, trust: bool) -> Path | None:
    """The bank that was named. Where it is trusted, its code is named and may be loaded: by the
    processes too that are started before the bank is read.
    """
    if trust:
        from harness import extensions

        place = bank_folder(bank)
        extensions.trust(place)
        for file in extensions.code_of(place):
            Output(stderr=True).text(f"harness: code of this bank: {file}")
    return bank


def bank_folder(folder: Path | None) -> Path:
    """Where that bank is."""
    from harness.cli.configuring import configuration
    from harness.scenarios import default_bank

    return folder or configuration().bank or default_bank()


def only_runnable(bank: "Bank") -> "Bank":
    """Without the scenarios that need a package which is not here; standard error says which.

    Raises:
        UsageError: none is left.
    """
    from harness.report.words import sentences_not_run
    from harness.scenarios.availability import runnable

    here, left_out = runnable(bank)
    sentences = sentences_not_run(left_out)
    if not here.scenarios:
        raise UsageError("; ".join(sentences))
    for sentence in sentences:
        Output(stderr=True).text(f"harness: {sentence}")
    return here


def print_faults(faults: "Sequence[Fault]", *, all_traces: bool) -> None:
    """One traceback is enough to begin with: a fault of ours often meets every scenario."""
    errors = Output(stderr=True)
    traces = list({fault.sentence: fault.trace for fault in faults if fault.trace}.values())
    for trace in traces if all_traces else traces[:1]:
        errors.text(trace.rstrip("\n"))
    for fault in faults:
        errors.text(f"{fault.scenario}, {fault.agent}: {fault.sentence}")
    if faults:
        errors.text(OURS)


def _guard(command: Callable[[], object]) -> int:
    """The exit code of a command, whatever it raises."""
    try:
        code = command()
        return code if isinstance(code, int) else 0
    except UserError as error:
        return _refuse(str(error))
    except SystemExit as left:  # by rich, of a help page that nobody reads to its end (`| head`)
        return 0 if left.code == 1 else int(left.code or 0)
    except typer.TyperException as error:
        return _refuse(_one_sentence(error))
    except Exception as error:  # noqa: BLE001 - whatever else it is, it is ours: so says the code
        if (sentence := lacking(error)) is not None:
            return _refuse(sentence)
        errors = Output(stderr=True)
        errors.text(traceback.format_exc().rstrip("\n"))
        errors.text(OURS)
        return 3


def _refuse(sentence: str) -> int:
    *places, last = sentence.split("\n")
    errors = Output(stderr=True)
    for place in places:
        errors.text(place)
    errors.text(f"harness: {last}")
    return 2


def _one_sentence(error: typer.TyperException) -> str:
    near: Sequence[str] = getattr(error, "possibilities", None) or ()
    if near:
        return f"{error.message}; did you mean {' or '.join(sorted(near))}?"
    said = in_words(" ".join(error.format_message().split()))
    context = getattr(error, "ctx", None)
    if context is None or "Did you mean" in said or said.startswith("Invalid value"):
        return said
    command = " ".join(("harness", *context.command_path.split()[1:]))
    return f"{said.rstrip('.')}; see `{command} --help`"

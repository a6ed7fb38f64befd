"""A program in its world: names are lent, it is run, and what it leaves to its reader is called."""

import ast
import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from harness.beside import unpacked
from harness.domain.event import BUILDS_MODELS, MADE_TO_FIT
from harness.domain.fitting import asks_for_other_data
from harness.sandbox.absent import checkpoints, files, hub, pictures
from harness.sandbox.absent.inert import install_progress
from harness.sandbox.absent.lent import all_lent
from harness.sandbox.absent.shown import ShownByProgram
from harness.sandbox.batches.callers import FILENAME
from harness.sandbox.batches.loaders import OnBatch
from harness.sandbox.frameworks import hooks, huggingface, packages
from harness.sandbox.machine import arguments, cuda, devices, distributed, sharding
from harness.sandbox.machine.spellings import install_spellings
from harness.sandbox.names.table import table, words
from harness.sandbox.own.milestones import come_soon
from harness.sandbox.own.patience import Patience
from harness.sandbox.own.shortening import declared_window
from harness.sandbox.own.shrinking import evaluate_soon
from harness.sandbox.ready import ReadyProgram, compiled, namespace
from harness.sandbox.unbound import NameScouted, no_input, parsed
from harness.sandbox.world import elastic, libraries, losses, pieces, rewrite, wrapping
from harness.sandbox.world.fitting import Fitting
from harness.sandbox.world.lending import LATE, MOMENT, Lender
from harness.sandbox.world.policies import MET
from harness.sandbox.world.reading import ProgramReading
from harness.sandbox.world.roots import Call, Starter
from harness.sandbox.world.spies import refused_as_a_size
from harness.sandbox.world.turns import (
    OF_A_TURN,
    Turns,
    Windows,
    first_use,
    is_around_a_step,
    makes_updates,
    with_clearing,
)
from harness.sandbox.world.values import Values
from harness.syntax import dotted, source_of, walk
from harness.workloads import Workload

OF_A_CLASS = ("classmethod", "staticmethod")
"""Decorators that mean nothing outside of one."""

SHARDING = frozenset({"FullyShardedDataParallel", "FSDP", "fully_shard"})
"""Calls that spread a model over ranks."""

COUNTED = frozenset({None, "loss", "step", "epoch", "count", "index"})
"""Roles of names in which programs count or sum up; what the reader brings is where they start."""

Track = Callable[..., nn.Module]
"""``(model, name)``: watch a model."""


def bind(  # noqa: PLR0913 - each is a fact of one run
    program: str,
    workload: Workload,
    *,
    rank: int,
    world_size: int,
    on_batch: OnBatch,
    tracked: Track,
    known: Mapping[str, str],
    alone: bool = False,
    rehearses: bool = False,
) -> ReadyProgram:
    """Lend every free name of ``program`` an object. ``known``: what scouts found out by name.
    ``alone``: whether it is judged by its own settings. ``rehearses``: whether it is not run, in a
    process from which others are forked, whose files stay as they are.

    Raises:
        Unbound: for a name that gets no object.
    """
    install_spellings()
    binding = _Binding(program, Values(workload, rank, world_size), on_batch, tracked, known)
    binding.lender.alone = alone
    binding.rehearses = rehearses
    return binding.bound()


@contextlib.contextmanager
def _misfits(masks: Sequence[str]) -> Iterator[None]:
    """What an error of torch tells of what was lent: a spy is refused as a size, and a loss that is a
    vector was multiplied by a mask that is a number.
    """
    try:
        yield
    except TypeError as error:
        raise refused_as_a_size() or error from error
    except RuntimeError as error:
        if masks and "only for scalar outputs" in str(error):
            raise NameScouted(masks[0], "gamma") from error
        raise


@contextlib.contextmanager
def _names(lender: Lender, tree: ast.Module) -> Iterator[None]:
    """A name of the program that is read before it is bound is one that the reader brings."""
    try:
        yield
    except NameError as error:
        name = getattr(error, "name", None)
        if name is None or isinstance(error, UnboundLocalError) or name in vars(lender.module):
            raise
        role = lender.role(name)
        if role == "loader" and _is_a_tensor(tree, name):
            role = table().part(name)
        starts = role in COUNTED and counts(tree, name, scaled=role != "loss")
        raise NameScouted(name, "start" if starts else role or "") from error


def _is_a_tensor(tree: ast.Module, name: str) -> bool:
    """Whether what a tensor has is asked of a name, and no loop goes over it: ``data.to(device)``."""
    asked = (n for n in walk(tree) if isinstance(n, ast.Attribute))
    passed_over = (dotted(n.iter) for n in walk(tree) if isinstance(n, ast.For))
    has = any(dotted(n.value) == name and hasattr(Tensor, n.attr) for n in asked)
    return has and name not in passed_over


def counts(tree: ast.Module, name: str, *, scaled: bool = True) -> bool:
    """Whether a program counts or sums up in a name, or subtracts it: it starts with 0. ``scaled``:
    also where it multiplies or divides it.
    """
    for node in walk(tree):
        if not scaled and isinstance(getattr(node, "op", None), ast.Div | ast.Mult):
            continue
        match node:
            case ast.AugAssign(target=ast.Name(id=found)) if found == name:
                return True
            case ast.BinOp(left=ast.Name(id=found)) | ast.BinOp(right=ast.Name(id=found)):
                if found == name:
                    return True
            case ast.Compare(left=ast.Name(id=found)) if found == name:
                return True
    return False


class _Binding:
    def __init__(
        self,
        program: str,
        values: Values,
        on_batch: OnBatch,
        tracked: Track,
        known: Mapping[str, str],
    ) -> None:
        self.values, self.known = values, known
        self.tracked = tracked
        self.rehearses = False
        """Whether it is bound where nothing may stay changed."""
        self.module = namespace()
        packed = unpacked(program)
        self.arguments = packed.arguments
        self.tree, noted = _prepared(packed.code)
        parameters = values.workload.parameters
        wanted = parameters.epochs * parameters.batches
        self.patience = Patience(values.world_size, wanted=wanted)
        self.reading = ProgramReading(self.tree, source_of(self.tree), table())
        self.lender = Lender(values, self.reading, table(), self.module, on_batch, known)
        self.lender.notes += noted
        self.lender.wrap = wrapping.is_expected(self.reading, values.world_size)
        self.lender.own_model = wrapping.builds_its_model(self.reading, self.lender)
        values.for_optimizers(self.reading.called)
        self.fitting = Fitting(self.lender)
        self.starter = Starter(self.lender)

    def bound(self) -> ReadyProgram:
        asked = [*self.lender.names, *self.reading.open_parameters]
        self.lender.own_model |= any(map(self.starter.class_of, asked))
        self._environment()
        self._lend()
        starts = self.fitting.starts()
        starts += self.starter.calls() if self._leaves_training() else []
        self._rewrite()
        self._watch()
        source = source_of(self.tree)
        code, left_out = compiled(self.tree)
        masks = [n for n in self.lender.names if self.lender.role(n) == "mask"]

        fitted = elastic.Elastic if self.lender.elastic else contextlib.nullcontext
        if self.lender.elastic:
            self.lender.notes.append(MADE_TO_FIT)

        @contextlib.contextmanager
        def around() -> Iterator[None]:
            with self._as_shown(), _misfits(masks), _names(self.lender, self.tree), fitted():
                yield

        def then() -> None:
            with self._as_shown(), _misfits(masks), fitted():
                self._start(starts)

        gathers, told = self._gathers(), len(self.lender.notes)
        return ReadyProgram(
            module=self.module,
            code=code,
            source=source,
            journal=self.lender.notes,
            patience=self.patience,
            untaken=left_out,
            around=around,
            then=then,
            after=lambda: {
                "accumulates_over": gathers,
                "lent": (*self.lender.notes[told:], *all_lent()),
            },
            calls=tuple(str(call) for call, _ in starts),
            passes=int(self.values.number("epochs")),
            models=(self.values.model,),
            optimizers=self.values.optimizers,
            is_told_shapes=self.lender.remembers,
        )

    @contextlib.contextmanager
    def _as_shown(self) -> Iterator[None]:
        """A model that is shown, and that cannot be made or trained here, is lent after all; data of
        another kind are tried first.
        """
        try:
            yield
        except Exception as error:
            guessed = self.starter.guessed
            if not guessed or self.patience.updates or asks_for_other_data(str(error)):
                raise
            raise NameScouted(guessed, "model") from error

    def _start(self, starts: list[tuple[Call, Callable[[], None]]]) -> None:
        """Make the calls that the program leaves to its reader."""
        trained = self.patience.updates > 0
        for call, start in starts:
            if trained:
                self.lender.notes.append(f"{call.function} is not called: training had begun")
            else:
                start()

    def _gathers(self) -> int | None:
        roles = map(self.lender.role, self.lender.names)
        lent = self.values.number("accumulation") if "accumulation" in roles else None
        return declared_window(self.tree) or lent

    def _leaves_training(self) -> bool:
        """Whether nothing trains at module level."""
        return "step" not in self.reading.does(*self._live())

    def _live(self) -> list[ast.stmt]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return [s for s in self.tree.body if not isinstance(s, kinds)]

    def _environment(self) -> None:
        values = self.values
        sys.argv = ["candidate.py", *self.arguments]
        distributed.environment(values.rank, values.world_size)
        cuda.told(local_rank=values.rank, count=values.world_size)
        cuda.clock_of(self.module)
        arguments.supplied_by(self._argument)
        if self.lender.wrap or wrapping.needs_group(self.reading):
            distributed.ensure_group()
        vars(self.module).update(input=no_input, open=files.opened)
        if not self.rehearses:
            self._lend_files()
            if self.reading.called & SHARDING:
                sharding.install()
        if "transformers" in self.reading.imported | libraries.packages_of(self.lender):
            hub.install()
        packages.put_first(self.tree, vars(self.module))
        if self.reading.imported & {"tqdm"} or "tqdm" in self.reading.free:
            install_progress()

    def _lend_files(self) -> None:
        shown = ShownByProgram(self.tree, self.reading.source, self.known)
        files.install(shown)
        checkpoints.install()
        pictures.install(shown)

    def _argument(self, name: str) -> Any:
        """A required argument of a command line, by its name."""
        if table().find(name, "numbers") is None:
            return "data"
        return self.lender.lend(name)

    # --------------------------------------------------------------------------------------- names

    def _lend(self) -> None:
        moments: dict[str, str] = {}
        self.late: dict[str, int] = {}
        for name in self.lender.names:
            if libraries.is_one(name, self.lender):
                vars(self.module)[name] = libraries.object_of(name)
                self.lender.notes.append(f"{name}: library {libraries.path_of(name)}")
                continue
            role = self.lender.role(name)
            if role in MOMENT | (OF_A_TURN if moments else set()) and not self._has_loader():
                moments[name] = str(role)
                continue
            self._free(name)
        huggingface.prepare_what_is_expected(vars(self.module))
        self.turns: Turns | Windows | None = None
        self.turns_from, self.turns_until = 0, len(self.tree.body)
        if moments and not (self.reading.called or self.reading.does(self.tree)):
            for name in moments:  # all of the training would be lent, and none of it judged
                self._free(name)
            moments = {}
        if moments and self._are_all_data(moments):
            moments = {}
        if moments or self._looks() or self._step_of_an_update():
            self._as_turns(moments)

    def _are_all_data(self, moments: dict[str, str]) -> bool:
        """Whether inputs and targets are all data at once, lent here: what only functions read, and what
        a loop of the program's own reads that draws nothing and makes an update in each turn.
        """
        names = [n for n in self.lender.names if self.lender.role(n) in OF_A_TURN | MOMENT]
        roles = {n: str(self.lender.role(n)) for n in names}
        start = first_use(self.tree, {*moments})
        loops = (s for s in self.tree.body[start:] if isinstance(s, ast.For | ast.While))
        loop = next(loops, None)
        whole = {*roles.values()} <= {"target", *MET} or all("train" in words(n) for n in roles)
        if start < len(self.tree.body) and not (loop is not None and makes_updates(loop) and whole):
            return False
        for name, role in roles.items():
            every = role in ("target", *MET) or (role == "input" and "train" in words(name))
            found = self.lender.data.everything(role) if every else self.lender.lend(name)
            vars(self.module)[name] = found
            if every:
                self.lender.notes.append(f"{name}: {role} of all samples")
        return True

    def _has_loader(self) -> bool:
        """Whether batches come from a loader, whatever else the program reads of one."""
        roles = {self.lender.role(n) for n in self.lender.names}
        return bool(roles & {"loader", "dataset"})

    def _free(self, name: str) -> None:
        found = LATE if self.starter.class_of(name) else self.lender.lend(name)
        if found is LATE:
            self.late[name] = first_use(self.tree, {name})
        else:
            vars(self.module)[name] = found

    def _as_turns(self, moments: dict[str, str]) -> None:
        names = {*moments}
        for name in self.lender.names:
            if self.lender.role(name) in OF_A_TURN:
                names.add(name)
                moments[name] = str(self.lender.role(name))
        sources = [n for n in self.lender.names if self.lender.role(n) == "source"]
        if sources:
            self._drawn(moments)
            names |= {*sources}
            self.turns = Windows(self.lender)
        else:
            self.turns = Turns(self.lender, moments, self.tree)
        step = self._step_of_an_update()
        self.turns_until = step[-1] + 1 if step else len(self.tree.body)
        start = first_use(self.tree, names) if moments else step[0] if step else len(self.tree.body)
        self.turns_from = with_clearing(self.tree, min(start, self._first_look()))
        self.lender.notes.append(self.turns.said())
        vars(self.module)[rewrite.TURNS] = self.turns

    def _looks(self) -> bool:
        """Whether module-level code looks at gradients that nothing in the program computes."""
        return self.reading.does(self.tree) == {"grad"} and self._first_look() < len(self.tree.body)

    def _step_of_an_update(self) -> range:
        """Indices of the module-level statements around a scaler's step, in code that shows nothing of
        what comes before it: neither batches nor a backward, nor how its optimizer is made. Of a step
        without a scaler all that could be judged would be lent.
        """
        roles = {self.lender.role(n): n for n in self.lender.names}
        names = {roles.get("optimizer"), roles.get("scaler")}
        if "backward" in self.reading.does(self.tree) or None in names:
            return range(0)
        around = [
            index
            for index, statement in enumerate(self.tree.body)
            if statement in self._live() and is_around_a_step(statement, names)
        ]
        plain = [self.tree.body[i] for i in around if isinstance(self.tree.body[i], ast.Expr)]
        steps = "step" in self.reading.does(*plain)
        return range(around[0], around[-1] + 1) if steps else range(0)

    def _first_look(self) -> int:
        """Index of the first module-level statement that looks at gradients nobody computes."""
        if self.reading.does(self.tree) & {"backward", "step"}:
            return len(self.tree.body)
        for index, statement in enumerate(self.tree.body):
            if statement in self._live() and "grad" in self.reading.does(statement):
                return index
        return len(self.tree.body)

    def _drawn(self, moments: dict[str, str]) -> None:
        """Names of a batch that the program draws ahead: the first one is drawn for it."""
        row = self.lender.data.draw()
        for name, role in moments.items():
            if role == "batch" or role in row.parts:  # a loss before the loop is a report's
                vars(self.module)[name] = row if role == "batch" else row.parts[role]

    # ---------------------------------------------------------------------------------------- code

    def _rewrite(self) -> None:
        ends = (self.turns_from, self.turns_until - 1) if self.turns is not None else ()
        lines = [self.tree.body[at] for at in ends]
        vars(self.module)[rewrite.LATER] = self.starter.later
        vars(self.module).update(devices.LENT)
        devices.map_calls(self.tree, bare=True)
        losses.take_place(self.lender)
        losses.refuse_forced()
        if self.late:
            rewrite.with_late(self.tree, self._models_first())
        if lines:
            rewrite.as_turns(self.tree, *lines)

    def _models_first(self) -> dict[str, int]:
        """Where names are bound late: a model before what belongs to it."""
        first = min(self.late.values())
        made = {n: first for n in self.late if self.starter.class_of(n)}
        return {**made, **{n: at for n, at in self.late.items() if n not in made}}

    def _watch(self) -> None:
        for name, part in self.values.parts.given.items():
            self.tracked(part, name, part=True)
        for network in self.lender.networks.given.values():
            self.tracked(network, "own")
        if not self.values.parts and not self.lender.networks.given:
            stateful = self.values.workload.carries_state
            self.tracked(self.values.model, "own" if stateful else "model")
        if self.reading.builds_models and self.values.world_size == 1:
            self.lender.notes.append(BUILDS_MODELS)


def _prepared(program: str) -> tuple[ast.Module, list[str]]:
    """The tree without what is not here, and what was left out."""
    tree = hooks.gather(parsed(program, FILENAME))
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):  # a method that was pasted without its class
            named = [(d, ast.unparse(d)) for d in statement.decorator_list]
            statement.decorator_list = [d for d, name in named if name not in OF_A_CLASS]
    tree.body = _in_their_class([_without_return(s) for s in tree.body])
    absent = packages.lend_imports(tree)
    removed = {*absent, *(id(s) for s in tree.body if _is_stub(s))}
    rewrite.leave_out(tree, removed)
    return tree, [
        *absent.values(),
        *evaluate_soon(tree),
        *come_soon(tree),
        *pieces.make_small(tree),
    ]


def _without_return(statement: ast.stmt) -> ast.stmt:
    """The end of a function that is cut out of it: what it gives back is computed all the same."""
    if not isinstance(statement, ast.Return):
        return statement
    value = statement.value or ast.Constant(None)
    return ast.fix_missing_locations(ast.copy_location(ast.Expr(value), statement))


def _in_their_class(body: list[ast.stmt]) -> list[ast.stmt]:
    """Methods that call each other and are pasted without their class stand in one."""
    methods = [s for s in body if isinstance(s, ast.FunctionDef) and _is_of_self(s)]
    called = {dotted(n.func) for m in methods for n in walk(m) if isinstance(n, ast.Call)}
    if not called & {f"self.{m.name}" for m in methods}:
        return body
    cls: ast.stmt = ast.parse("class Shown: pass").body[0]
    assert isinstance(cls, ast.ClassDef)
    cls.body, at = list[ast.stmt](methods), body.index(methods[0])
    ast.copy_location(cls, methods[0])
    return [*body[:at], cls, *(s for s in body[at:] if s not in methods)]


def _is_of_self(function: ast.FunctionDef) -> bool:
    return [a.arg for a in function.args.args[:1]] == ["self"]


def _is_stub(statement: ast.stmt) -> bool:
    """A function without a body that a name of the table stands for: the reader has their own."""
    if not isinstance(statement, ast.FunctionDef) or table().role(statement.name) is None:
        return False
    return all(
        isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in statement.body
    )

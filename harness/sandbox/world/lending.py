"""What a program is lent: the object for a name, by the table, or by what a scout found out."""

import ast
import copy
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from harness.sandbox.absent.checkpoints import absent_state
from harness.sandbox.absent.inert import Inert, SilentProgress
from harness.sandbox.batches.callers import ResultUse, frame_of_the_program
from harness.sandbox.batches.loaders import Loader, OnBatch
from harness.sandbox.batches.rows import Shape
from harness.sandbox.batches.transitions import PARTS as MEMORY
from harness.sandbox.batches.transitions import transition
from harness.sandbox.frameworks import fabric, huggingface
from harness.sandbox.names.table import NameEntry, Table, words
from harness.sandbox.unbound import NameScouted, Unbound
from harness.sandbox.world import answers, parts_of
from harness.sandbox.world.data import Data
from harness.sandbox.world.networks import PART, Networks
from harness.sandbox.world.parts import ROLES
from harness.sandbox.world.policies import MET, in_time, part_of_a_rollout
from harness.sandbox.world.reading import ProgramReading, last_name
from harness.sandbox.world.settings import LentSettings
from harness.sandbox.world.spies import SIZES, Spy
from harness.sandbox.world.training import UnshownTraining
from harness.sandbox.world.unpacking import Unpacking
from harness.sandbox.world.updates import UpdateReading
from harness.sandbox.world.values import LentVocabulary, Values

LATE = object()
"""Stands for a value that exists only once the program has built its model."""

OF_A_MODEL = frozenset({"optimizer", "optimizers", "scheduler", "parameters"})
"""Roles of objects that belong to the model that is trained."""

MOMENT = frozenset({"input", "batch", "output", "loss"})
"""Parts of one batch that mean: this code is written for one batch."""

SMALL = 4
"""A size that nobody says, where what is lent is made to fit."""

BARE = frozenset({"raw", "bare", "unwrapped", "without"})
"""Words in names of a model that is in DDP elsewhere: ``raw_model``, ``model_without_ddp``."""

MAKER = "maker of "
MADE = frozenset({
    "model", "other model", "loader", "validation", "dataset", "criterion", "optimizer", "scheduler",
    "scaler", "settings", "accelerator", "logger", "parameters", "local rank", "device", "rank",
    "collate",
})  # fmt: skip
"""What functions and classes make that are called by name only: ``build_model()``, ``MyModel()``."""

OF_A_MODULE = frozenset({"zero_grad", "parameters", "train", "eval", "state_dict"})
"""Attributes of which a module that is called has one."""

OF_MODULES_ALONE = frozenset({"parameters", "named_parameters", "no_sync"})
"""Attributes that nothing else has."""

OF_AN_OPTIMIZER = frozenset({"param_groups", "state", "defaults"})
"""Attributes that only an optimizer that was made has."""

OBJECTS = OF_A_MODEL | {
    "model",
    "loader",
    "validation",
    "dataset",
    "criterion",
    "logger",
    "transform",
}
NEVER_CALLED = frozenset({"scaler", "parameters", "module list", "optimizers"})
CALLED = {
    "main process": f"{MAKER}main process",
    "several ranks": f"{MAKER}several ranks",
    "scaler": "stepper",
}
"""What of these is a function after all: ``is_main_process()``, ``loss_scaler(loss, optimizer)``."""

SECTIONS = frozenset({"train", "training", "test", "eval", "optim", "loss", "data", "amp"})
SECTIONED = frozenset({"cfg", "conf", "config", "args", "hparams", "settings", "hp", "opts"})
"""Names of settings proper: ``cfg.optim.lr`` is a number in a section, and no optimizer."""

MAKING = frozenset(
    {"build", "make", "get", "create", "load", "init", "prepare", "construct", "new", "select"}
)
"""Words with which the names of such functions begin."""


class Lender:
    """Finds the object for each name of one program, and takes down what it lent."""

    _later = False
    """Whether what the program builds is there by now."""
    wrap = False
    """Whether a free model has to come in DDP."""
    alone = False
    """Whether it is judged by its own settings: what a function that is not shown does to training no
    scenario can accept or refuse.
    """
    own_model = False
    """Whether the program builds the model that it trains."""
    lightning_module: Callable[[], nn.Module] | None = None
    """Makes the module that a Trainer of Lightning fits, where the program shows none."""
    instances: tuple[object, ...] = ()
    """What is made of the program's own classes to train with."""

    def __init__(
        self,
        values: Values,
        reading: ProgramReading,
        table: Table,
        module: ModuleType,
        on_batch: OnBatch,
        known: Mapping[str, str],
    ) -> None:
        """``known``: roles that scouts found out, by name."""
        self.values = values
        self.reading = reading
        self.table = table
        self.module = module
        self.notes = list[str]()
        there = {*reading.free, *reading.open_parameters}
        more = (name for name in known if name not in there and name.isidentifier())
        self.names = [*reading.free, *more]
        """Names that the program reads and leaves to its reader, in the order of their first use."""
        self.together = list(self.names)
        """These, and the parameters of a function that is called."""
        self.networks = Networks(values, reading, table, known)
        """Where it is lent several."""
        self._known = known
        self._extra = values.workload.extra_names()
        rows = values.batches[0].inputs if self.elastic else None
        self._answers = answers.Answers(reading, table, values.criterion, values.targets, rows)
        self.unpacking = Unpacking(reading)
        """How the program takes its batches apart."""
        self.data = self._data(on_batch)
        """The workload's batches, as the program takes them apart."""
        self._answers.forward = self.forward

    def _data(self, on_batch: OnBatch) -> Data:
        reading, unpacking = self.reading, self.unpacking
        shape = Shape(
            unpacking.rows,
            unpacking.keys,
            self.table,
            input_name="input_ids" if reading.loads_a_model else input_name(self.values.model),
            whole=unpacking.whole_tensors,
            mapping=unpacking.takes_mappings,
            fits=self.elastic,
        )
        data = Data(self.values, shape, self.module, on_batch)
        data.in_windows = UpdateReading(reading).takes_windows
        data.of_a_policy = self.networks.policy
        data.in_time = self.networks.policy and in_time(reading)
        return data

    @property
    def elastic(self) -> bool:
        """Whether what is lent is made to fit."""
        return self.networks.elastic

    @property
    def remembers(self) -> bool:
        """Whether its batches are of a replay memory."""
        rows = (part for row in self.unpacking.rows.values() for part in row)
        return "next input" in {*rows, *self.reading.remembered.values()}

    def is_known(self, name: str) -> bool:
        """Whether a scout found out what a name is."""
        return name in self._known

    def role(self, name: str) -> str | None:
        """The role of a name; ``maker of ...`` for a function or class that makes such an object."""
        is_part = bool(self.values.parts) and self.values.parts.is_network(name)
        by_use = self.reading.remembered.get(name) or self.reading.states.get(name)
        met = self._of_a_policy(name) or by_use
        known = None if is_part else met or self._known.get(name)
        if known and known.startswith(MAKER):
            made = self.table.role(known.removeprefix(MAKER))
            return f"{MAKER}{made}" if made else None
        if known:
            return "held batch" if known == "input" and self._is_a_batch(name) else known
        if is_part or name in self.networks.given or name in self.networks.halves:
            return "model"
        first, _, rest = " ".join(words(name)).partition(" ")
        text = self.values.workload.carries_state and name in self._extra
        found = None if text else self._by_name(name) or self._before_a_model(name)
        called = found == "loader" and name in self.reading.called_plainly
        if called or (found in MADE and self._is_a_class(name)):
            return f"{MAKER}{found}"
        if first in MAKING and rest and found not in ("source", "effectless"):
            made = self.table.role(rest, "objects")
            made = "model" if made is None and PART.fullmatch(rest.split()[-1]) else made
            return f"{MAKER}{made}" if made in MADE else found
        return found

    def _is_a_batch(self, name: str) -> bool:
        """Whether targets are read of what a model is given as a whole: ``model(probe) - probe.y``."""
        read = self.reading.named.get(name)
        return read is not None and any(self.table.part(f) == "target" for f in read.fields)

    def _is_a_class(self, name: str) -> bool:
        """Whether it is spelled like one: ``D_opt`` and ``FLAGS`` are none, unless they are called."""
        called = name in self.reading.called_plainly
        return name[:1].isupper() and (called or not ("_" in name or name.isupper()))

    def _of_a_policy(self, name: str) -> str | None:
        """What a name means to a program that is lent a policy."""
        if not self.networks.policy:
            return None
        if name.rpartition(".")[2] in self.networks.given:
            return "model"
        read = self.reading.named.get(name)
        holds_it = read is not None and any(map(part_of_a_rollout, read.fields))
        return "settings" if holds_it else part_of_a_rollout(name)

    def _by_name(self, name: str) -> str | None:
        """What the table says, unless the program uses the name as what that cannot be."""
        found = self.table.find(name)
        if name in self.reading.moments:
            return "start"
        if found is None or self._is_a_size(name) or self._is_a_called_letter(name):
            asked = self.reading.asked_of(name) | self.reading.asked_of_kept(name)
            called = name in self.reading.called and asked & OF_A_MODULE
            return "model" if called or asked & OF_MODULES_ALONE else None
        unshown = self.alone and self.reading.is_unshown_training(name)
        if unshown or found.role == "training":
            return "training" if unshown else None
        if found.role == "loss" and name in self.reading.called_plainly:
            return "criterion" if self.reading.is_given_something(name) else "logger"
        if name in self.reading.called_plainly and (
            found.kind in ("numbers", "parts") or found.role in NEVER_CALLED
        ):
            return CALLED.get(found.role)
        return "settings" if self._are_settings(found, name) else self._by_use(found, name)

    def _are_settings(self, found: NameEntry, name: str) -> bool:
        """Whether ``opt`` or ``opts`` is what argparse returned: what no optimizer and no list has is
        asked of it.
        """
        asked = self.reading.asked_of(name)
        if found.role == "optimizers":
            return any(not hasattr(list, a) for a in asked)
        more = any(not hasattr(torch.optim.Adam, a) and a not in OF_AN_OPTIMIZER for a in asked)
        return found.role == "optimizer" and more and not asked & {"step", "zero_grad"}

    def _before_a_model(self, name: str) -> str | None:
        """What no table knows and a model is called with the result of: ``net(mel(x))``."""
        unknown = name in self.reading.feeds_models and self.table.find(name) is None
        return "transform" if unknown else None

    def _is_a_size(self, name: str) -> bool:
        """Whether one capital letter is a number: ``B`` in ``torch.zeros(B, H)`` is no batch."""
        read = self.reading.named.get(name)
        apart = read is not None and (read.fields or read.taken_apart)
        used = self.reading.called_plainly | self.reading.passed_over
        return name in SIZES and not (apart or name in used or self.reading.asked_of(name))

    def _is_a_called_letter(self, name: str) -> bool:
        """Whether one capital letter is called: ``C(fake)`` is a critic, and no settings."""
        return len(name) == 1 and name.isupper() and name in self.reading.called_plainly

    def _by_use(self, found: NameEntry, name: str) -> str:
        """Functions are no operands, parts of a batch no numbers of turns, samplers and numbers no
        loops.
        """
        if found.role == "effectless" and name in self.reading.operands:
            number = self.table.find(name, "numbers")
            return number.role if number is not None else "interval"
        if found.kind == "parts" and name in self.reading.counted_to:
            return "epochs" if found.role == "epoch" else "total steps"
        passed_over = name in self.reading.passed_over - self.reading.counted_to
        if found.role in ("sampler", "accumulation", "step") and passed_over:
            return "loader"  # ``micro_batches`` may be a list of these, and ``it`` an iterator
        if found.role == "epochs":
            return "passes" if name in self.reading.only_passed_over else "epochs"
        if found.role == "loader" and not passed_over:
            return self._of_unread_data(name)
        drawn = found.role != "source" or name in self.reading.called
        return found.role if drawn else self.table.part(name) or found.role  # ``sample_batch``

    def _of_unread_data(self, name: str) -> str:
        """What ``data`` is that no loop goes through: ``data.x`` and ``data.y``, or a model's input."""
        if self._is_a_batch(name):
            return "held batch"
        return self.table.part(name) or "loader" if self._goes_into_a_model(name) else "loader"

    def _goes_into_a_model(self, name: str) -> bool:
        """Whether it may mean an input, and a model is called with it."""
        calls = [n for n in self.reading.nodes if isinstance(n, ast.Call)]
        models = (c for c in calls if self.table.role(last_name(c.func) or "") == "model")
        given = {a.id for c in models for a in c.args if isinstance(a, ast.Name)}
        return name in given and self.table.part(name) == "input"

    def lend(self, name: str) -> Any:
        """The object for a name: a free one, a parameter, an attribute; a spy where nothing is known.

        Raises:
            Unbound: there is no such object on this workload.
        """
        if name in self._extra:
            self.note(name, "the workload's own")
            return self._extra[name]
        role = self.role(name)
        if name in self.reading.derived_from and role in (None, f"{MAKER}model"):
            self.note(name, "a class of models")
            return nn.Module
        if role is None:
            return self._spy(name)
        found = LATE if self._is_made_of_its_class(role, name) else self.of(role, name)
        self.note(name, self._said(role, name, found))
        return found

    def _spy(self, name: str) -> Spy:
        return Spy(name, self.result, steps=self._stepping(), several=self._several)

    def _several(self, name: str, names: tuple[str, ...], given: list[Any]) -> Any:
        """Parts of what a function returns that is not shown, where what is lent is made to fit: what
        it was given, or a batch.
        """
        met = transition([n.rpartition(".")[2] for n in names])
        if met is not None:  # of a replay memory
            row = self.data.draw()
            return tuple(row.parts[part] for part in met)
        if (made := self._made_of(names)) is not None:
            self.note(name, f"{MAKER}{self.table.role(names[0], 'objects')}")
            return made
        tensors = [one for one in given if isinstance(one, Tensor)]
        is_a_model = "." not in name and len(tensors) == len(given) > 0
        if not self.elastic or is_a_model:
            return None
        batch = self.data.current or self.values.batches[0]
        first = tensors[0] if tensors else batch.inputs
        return tuple(batch.target if self.table.part(n) == "target" else first for n in names)

    def result(self, function: str, given_to: str) -> Any:
        """What a function returns that is not shown: as a scout found out, or as the name says that is
        ``given_to``; else ``None``.
        """
        role = self._known.get(f"{function}()")
        if role is not None:
            return self.of(role, f"{function}()")
        read = self.reading.named.get(given_to)
        if read is not None and "backward" in read.fields:
            raise NameScouted(function, "criterion")
        found = self.table.find(given_to, "objects", "numbers")
        if found is None or (found.kind == "objects" and found.role not in MADE):
            return None
        self.note(function, f"{MAKER}{found.role}")
        return self._maker(found.role, function)()

    def forward(self, inputs: Tensor) -> Any:
        """Outputs of the workload's model; ``None`` where the program trains another one."""
        alone = self.values.world_size == 1 or self.wrap
        if self.own_model or self.values.parts or self.networks.given or not alone:
            return None
        model, self._answers.bare = self.model(), True
        try:
            return model(inputs)
        finally:
            self._answers.bare = False

    def _is_made_of_its_class(self, role: str, name: str) -> bool:
        """Whether a Trainer of Lightning fits it, and the program shows its class."""
        fitted = role == "model" and name in self.reading.fitted
        return fitted and self.lightning_module is not None and self._shows_module()

    def _stepping(self) -> str:
        makes_one = any(n in self.reading.called for n in OPTIMIZERS)
        free = {self.table.role(n, "objects") for n in self.names}
        if "scheduler" in free and "optimizer" in free:
            return ""  # what steps beside both may be anything
        return "scheduler" if makes_one or "optimizer" in free else "optimizer"

    def note(self, name: str, said: str) -> None:
        """Take down what was lent."""
        line = f"{name}: {said}"
        if line not in self.notes:
            self.notes.append(line)

    def _said(self, role: str, name: str, found: Any) -> str:
        if isinstance(found, Loader):
            return f"{role} of {found.form}"
        if role == "model" and hasattr(found, "no_sync"):
            return "model in DDP"
        return self.values.parts.said(role, [name])

    def of(self, role: str, name: str) -> Any:
        """The object for a role."""
        if role.startswith(MAKER):
            return self._maker(role.removeprefix(MAKER), name, apart=True)
        if self._comes_later(role):
            return LATE
        if self.values.parts and role in ROLES:
            return self.values.parts.of(role, [name])
        if role in ("target", "mask", "count", "lengths", *MET, *MEMORY):
            return self.data.part(role, name)
        special: dict[str, Callable[[str], Any]] = {
            "loader": self._loader,
            "validation": lambda _: self.data.loader("validation"),
            "dataset": lambda _: self.data.loader().dataset,
            "validation dataset": lambda _: self.data.loader("validation").dataset,
            "source": lambda _: self.data.draw,
            "model": self.model,
            "other model": self._other_model,
            "criterion": self._criterion,
            "optimizer": self._optimizer,
            "optimizers": lambda n: [self._optimizer(n)],
            "parameters": self._parameters,
            "scheduler": self._scheduler,
            "accelerator": self._accelerator,
            "fabric": lambda _: fabric.unseen(self.values.world_size),
            "settings": lambda n: LentSettings(n, self.attribute, self.result, self._several),
            "logger": self._logger,
            "effectless": lambda _: _effectless,
            "stepper": lambda _: _backward_and_step,
            "freezing": lambda n: functools.partial(_frozen, default=words(n)[0] == "unfreeze"),
            "training": lambda n: UnshownTraining(n, self),
            "transform": lambda _: _first,
            "detaching": lambda _: _detached,
            "context": lambda _: Inert(),
            "module list": lambda _: [self.model()],
            "passes": lambda _: range(int(self.values.number("epochs"))),
            "collate": lambda _: None,
            "start": lambda _: 0,
            "state": absent_state,
            "held batch": lambda _: self.data.shape.build(self.data.leaves(self.values.batches[0])),
            "batch": self._of_one_batch, "output": self._of_one_batch, "loss": self._of_one_batch,
        }  # fmt: skip
        return special[role](name) if role in special else self._simple(role, name)

    def _simple(self, role: str, name: str) -> Any:
        try:
            return self.values.simple(role.replace(" ", "_"))
        except KeyError:
            if not self.elastic:
                raise Unbound(name, f"looks like {role}, which this workload has not") from None
        return LentVocabulary(SMALL) if role == "vocabulary" else SMALL

    def _logger(self, name: str) -> Inert | SilentProgress:
        """What does nothing; a progress bar of whose items a loop trains goes over batches."""
        over = name in self.reading.trained_over
        return SilentProgress(self.data.loader()) if over else Inert()

    def _shows_module(self) -> bool:
        reading = self.reading
        return any(reading.is_a(cls, "LightningModule") for cls in reading.classes)

    def _made_of(self, names: tuple[str, ...]) -> tuple[Any, ...] | None:
        """What the names say to which a result is given in parts: ``model, tokenizer = load(args)``."""
        roles = [self.table.role(n, "objects") or "" for n in names]
        if not {*roles} & MADE or "" in roles:
            return None
        return tuple(self._maker(role, n)() for role, n in zip(roles, names, strict=True))

    def _maker(self, role: str, name: str, *, apart: bool = False) -> Callable[..., Any]:
        """A function or class that is not shown, and makes what its name says; ``apart``: or several
        things.
        """

        def made(*_: Any, **__: Any) -> Any:
            use = ResultUse(frame_of_the_program() if apart else None)
            if (several := self._made_of(use.names) if use.apart else None) is not None:
                return several
            if (
                role == "model"
                and self.lightning_module is not None
                and self.reading.fitted
                and not self._shows_module()
            ):
                return self.lightning_module()
            if role == "model" and not self._is_a_class(name):
                self._is_the_only(name, f"{MAKER}model")
            found = self.of(role, name)
            return self.later(role) if found is LATE else found

        return made

    # ------------------------------------------------------------------------------------- models

    def model(self, name: str = "") -> nn.Module:
        """The workload's model, in the form in which the program uses it."""
        if self.lightning_module is not None and name in self.reading.fitted:
            return self.lightning_module()
        if name in self.networks.halves:
            return self.networks.halves[name]
        short = name.rpartition(".")[2] if self.elastic else name
        if short in self.networks.given:
            return self._adapted(self.networks.given[short], short)
        if self.networks.policy:
            return self.networks.given.get(name.rpartition(".")[2], self.values.trained)
        if name in self.reading.frozen and self._trains_another(name):
            return self._other_model("")
        plain = self.reading.calls_models_plainly and (
            self.data.shape.rows or self.data.shape.whole
        )
        if self.elastic or not plain:
            self._adapted(self.values.model, short)
        parts_of.name_parts(self.values.model, self.reading)
        parts_of.name_methods(self.values.model, short, self.reading, self._answers.loss_of)
        bare = not BARE.isdisjoint(words(name))
        return self.values.the_model(wrap=self.wrap and not bare)

    def _adapted(self, model: nn.Module, name: str) -> nn.Module:
        """A lent model that takes what the program passes; made to fit, methods that only the reader's
        own has do what it does itself.
        """
        if self.elastic or model is self.values.model:
            stateful = self.values.workload.carries_state
            answers.adapt(model, self._answers, carries_state=stateful)
        if self.elastic:
            parts_of.name_methods(model, name, self.reading, self._answers.loss_of)
        return model

    def _trains_another(self, name: str) -> bool:
        """Whether another free name stands for a model, and is not frozen."""
        others = {*self.together, *self.reading.open_parameters} - {name} - self.reading.frozen
        return any(self.role(n) == "model" for n in others)

    def _other_model(self, name: str) -> nn.Module:
        """A copy that is only looked at: a teacher, a target network, an average. Its weights are
        others: who learns from a twin has nothing to learn.
        """
        self.model(name)
        other = copy.deepcopy(self.values.model)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.mul_(0.9)
        return other

    def _optimizer(self, name: str) -> torch.optim.Optimizer:
        """The optimizer of the whole model; of a part where the program steps several for one model."""
        several = [n for n in self.together if self.role(n) == "optimizer"]
        if self.networks.given:
            others = [n for n in several if n != name]
            if self.reading.steps_several and not self.networks.says(name, others):
                raise Unbound(name, "is one of several, and nothing says which model it is for")
            meant = nn.ModuleList(self.networks.meant_by(name, several))
            return self.values.optimizer_of(meant)
        if (half := self.networks.half_of(name)) is not None:
            return self.values.optimizer_of(nn.ModuleList([half]))
        if name in several and self._halve_the_model(several):
            return self.values.optimizer_of_part(several.index(name), len(several))
        if not self.own_model:
            self._is_the_only(name, "optimizer")
        return self.values.the_optimizer()

    def _halve_the_model(self, optimizers: list[str]) -> bool:
        """Whether either has a part of one model, and no other name of the program says which."""
        others = [w for n in self.together if n not in optimizers for w in words(n)]
        said = {
            w for n in optimizers for w in words(n) if len(w) > 1 and self.role(w) != "optimizer"
        }
        named = any(other.startswith(w) for w in said for other in others)
        return len(optimizers) == 2 and not named and self.reading.steps_all(optimizers)

    def _loader(self, name: str) -> Loader:
        if name in self.unpacking.beside:
            return self.data.loader(name, other=True, whole=name in self.unpacking.whole_beside)
        return self.data.loader()

    def _comes_later(self, role: str) -> bool:
        """Whether an object belongs to what the program builds first."""
        of_its_optimizer = role == "scheduler" and self._builds_its_optimizer()
        return (role in OF_A_MODEL and self.own_model) or (of_its_optimizer and not self._later)

    def _scheduler(self, name: str) -> torch.optim.lr_scheduler.LRScheduler:
        """One that leaves the rates as they are, of the program's own optimizer where it has one."""
        own = [v for v in vars(self.module).values() if isinstance(v, torch.optim.Optimizer)]
        optimizer = own[-1] if own and self._builds_its_optimizer() else self._optimizer(name)
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)

    def _builds_its_optimizer(self) -> bool:
        free = any(self.role(n) == "optimizer" for n in self.names)
        return not free and any(n in self.reading.called for n in OPTIMIZERS)

    def _parameters(self, name: str) -> list[nn.Parameter]:
        """Those of the whole model."""
        if self.networks.given:
            several = [n for n in self.together if self.role(n) == "parameters"]
            return [p for m in self.networks.meant_by(name, several) for p in m.parameters()]
        self._is_the_only(name, "parameters")
        return list(self.values.trained.parameters())

    def _is_the_only(self, name: str, role: str) -> None:
        """Raises ``Unbound`` where several names mean parts of one model: which has which part?"""
        several = [n for n in self.together if self.role(n) == role and not self._is_a_class(n)]
        if len(several) > 1 and name in several:
            raise Unbound(
                name, f"is one of {len(several)} for one model, and nothing says which part"
            )

    def later(self, name: str) -> Any:
        """An object that belongs to the model which the program has built by now."""
        if self.values.trained is self.values.model:
            own = [m for m in self._own_modules() if any(True for _ in m.parameters())]
            if own:
                self.values.trained = own[0] if len(own) == 1 else nn.ModuleList(own)
        kept, self.own_model, self._later = self.own_model, False, True
        try:
            return self.of(self.role(name) or "", name)
        finally:
            self.own_model, self._later = kept, False

    def _own_modules(self) -> list[nn.Module]:
        holders = (self.module, *self.instances)
        values = (v for h in holders for v in getattr(h, "__dict__", {}).values())
        found = [v for v in values if isinstance(v, nn.Module)]
        inside = {id(part) for m in found for part in [*m.modules()][1:]}
        return [m for m in {id(m): m for m in found}.values() if id(m) not in inside]

    def _criterion(self, name: str) -> Any:
        values = self.values
        other = self.networks.given or self.elastic or name in self._known
        plain = _plainly(self.reading, self.unpacking) and not other
        if isinstance(values.criterion, nn.Module) and plain:
            return values.criterion
        return answers.Loss(values.criterion, values.criterion_of_each, self._answers)

    def _accelerator(self, name: str) -> Any:
        called = self.reading.called
        if self.reading.mentioned & {
            "no_backward_sync",
            "clip_gradients",
            "setup",
            "setup_dataloaders",
        }:
            return fabric.unseen(self.values.world_size)
        steps = int(self.values.number("accumulation")) if "accumulate" in called else 1
        return huggingface.accelerator(name, steps, prepares="prepare" in called)

    # ---------------------------------------------------------------------------------- settings

    def _of_one_batch(self, name: str) -> Any:
        """By its name a part of one batch, but no loop yields it: a meter, a count, a function."""
        return self._spy(name)

    def _is_read_below(self, role: str | None, full: str) -> bool:
        """Whether a switch is a section as well: ``args.amp`` is none, ``cfg.amp`` of ``cfg.amp.dtype``
        is.
        """
        if role not in ("flag on", "flag off"):
            return True
        read = (n for n in self.reading.nodes if isinstance(n, ast.Attribute | ast.Subscript))
        return any(re.sub(r"\['(\w+)'\]", r".\1", ast.unparse(n.value)) == full for n in read)

    def _is_no_path(self, role: str | None, full: str) -> bool:
        """Whether more is read of it than of a text: ``self.path.sample(x)``."""
        read = (n for n in self.reading.nodes if isinstance(n, ast.Attribute))
        return role == "path" and any(
            ast.unparse(n.value) == full and not hasattr(str, n.attr) and not hasattr(Path, n.attr)
            for n in read
        )

    def _unless_called(self, name: str) -> str | None:
        """What an attribute is by the table; a number is not called, and a function is no operand."""
        found, called = self.table.find(name), name in self.reading.called
        if (
            called
            and name == "sample"
            and any("reward" in row for row in self.unpacking.rows.values())
        ):
            return "source"  # of a replay memory
        first, _, rest = " ".join(words(name)).partition(" ")
        makes = called and first in MAKING and rest and (found is None or found.role != "source")
        made = self.table.role(rest, "objects") if makes else None
        if made in MADE:
            return f"{MAKER}{made}"
        if called and found is not None and found.role == "scheduler":
            return "effectless"  # it moves rates
        no_function = {"numbers", "parts"} if self.elastic else {"numbers"}
        if found is None or (called and (found.kind in no_function or found.role in OF_A_MODEL)):
            return None
        return self._by_use(found, name)

    def attribute(self, owner: str, name: str) -> Any:
        """A setting: ``args.lr``, or of a section ``cfg.train.lr``."""
        full = f"{owner}.{name}"
        proper = words(owner)[0] in SECTIONED
        if name in self.reading.summed_up and name not in self.reading.called:
            return 0
        role = self._of_a_policy(full) or self._known.get(full) or self._unless_called(name)
        if name in SIZES and name not in self.reading.called and not self.reading.asked_of(full):
            role = self._known.get(full) or SIZES[name]  # ``cfg.T``, and not ``y`` or ``t``
        section = (
            self._is_read_below(role, full) and (role in OBJECTS or name in SECTIONS) and proper
        )
        if role is None or section or self._is_no_path(role, full):
            return LentSettings(full, self.attribute, self.result, self._several)
        found = self.of(role, full)
        if found is LATE:
            raise Unbound(full, "can only be made by the program itself")
        self.note(full, self._said(role, full, found))
        return found


def input_name(model: nn.Module) -> str:
    """Name of the first parameter of ``forward``."""
    return next(iter(inspect.signature(model.forward).parameters), "input_ids")


def _plainly(reading: ProgramReading, unpacking: Unpacking) -> bool:
    """Whether results and batches are plain tensors by the time they reach a loss."""
    losses = [n for n in reading.named if reading.table.part(n) == "loss"]
    mapped = any({"items", "keys", "values"} & reading.named[n].fields for n in losses)
    return bool(unpacking.rows) and not unpacking.keys and not mapped


def _backward_and_step(
    loss: Tensor,
    optimizer: Any,
    clip_grad: Any = None,
    clip_mode: str = "norm",
    *_: Any,
    **how: Any,
) -> None:
    """What a scaler of losses does that is called: backward; and where it is to be, clip and step."""
    loss.backward(create_graph=bool(how.get("create_graph")))
    if not how.get("update_grad", how.get("need_update", True)):
        return
    if clip_grad and clip_mode == "norm":
        nn.utils.clip_grad_norm_(how["parameters"], clip_grad)
    optimizer.step()


def _frozen(*given: Any, default: bool, **named: Any) -> None:
    """Whether networks are trained from here on, as a flag says."""
    everything = [*given, *named.values()]
    trains = next((one for one in everything if isinstance(one, bool)), default)
    for one in everything:
        for network in one if isinstance(one, list | tuple) else [one]:
            if isinstance(network, nn.Module):
                network.requires_grad_(trains)


def _effectless(*_: Any, **__: Any) -> Any:
    return Inert()


def _first(value: Any = None, *_: Any, **__: Any) -> Any:
    return value


def _detached(value: Any) -> Any:
    """What functions return that cut off the state of a recurrent model."""
    if isinstance(value, Tensor):
        return value.detach()
    return type(value)(map(_detached, value)) if isinstance(value, tuple | list) else value


OPTIMIZERS = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "LBFGS")

"""What a program defines: functions and classes, with the nodes of their parameters and fields."""

import ast
from dataclasses import dataclass, field
from typing import Literal

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.graph import Call, Node

Kind = Literal["positional", "either", "keyword", "star", "double-star"]


@dataclass(eq=False, slots=True)
class Parameter:
    """One parameter."""

    name: str
    """Its name."""
    node: Node
    """Its values."""
    kind: Kind
    """How it is passed."""
    default: bool
    """Whether it has one."""


@dataclass(eq=False, slots=True)
class Function:
    """A function, a method or a lambda."""

    name: str
    """Its name."""
    tree: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    """Its definition."""
    parameters: list[Parameter]
    """Without ``self`` for methods."""
    result: Node
    """What it returns."""
    owner: "Class | None" = None
    """Its class, for methods."""
    static: bool = False
    """Whether a method takes no instance."""
    of_class: bool = False
    """Whether a method takes its class in place of an instance."""
    nested: bool = False
    """Whether it is defined inside another function."""
    no_grad: bool = False
    """Whether it runs without gradients."""

    def required(self) -> list[Parameter]:
        """Parameters without a default."""
        return [
            p for p in self.parameters if not p.default and p.kind not in ("star", "double-star")
        ]


@dataclass(eq=False, slots=True)
class Class:
    """A class."""

    name: str
    """Its name."""
    tree: ast.ClassDef
    """Its definition."""
    instance: Node
    """Node of its instances."""
    bases: set[str]
    """Dotted paths of library bases, names of others."""
    methods: dict[str, Function] = field(default_factory=dict)
    """Methods by name."""
    fields: list[Parameter] = field(default_factory=list)
    """Fields of a dataclass, in order."""
    nested: bool = False
    """Whether it is defined inside a function."""
    unseen: bool = False
    """Whether it inherits from a class that the program neither defines nor imports."""
    parents: "list[Class]" = field(default_factory=list)
    """Base classes that the program defines, the nearest first."""

    def method(self, name: str) -> Function | None:
        """The method of this name, its own or one that it inherits."""
        found = (cls.methods[name] for cls in (self, *self.parents) if name in cls.methods)
        return next(found, None)

    def unset(self) -> dict[str, Node]:
        """Attributes that its methods read and nothing sets, where the class is posted without its
        constructor or without a base class.
        """
        shown = self.method("__init__") is not None and not self.unseen
        known = self.bases - {"builtins.object"} and not self.unseen
        if shown or known or self.module or self.fields:
            return {}
        return {
            name: node
            for name, node in self.instance.attributes().items()
            if not (node.before or self.method(name) or name.startswith("__"))
            and f"={name}" not in self.instance.uses
        }

    @property
    def lightning(self) -> bool:
        """Whether it is a LightningModule."""
        return any(base.endswith("LightningModule") for base in self.bases)

    @property
    def module(self) -> bool:
        """Whether it is an ``nn.Module``."""
        return self.lightning or any(base.startswith("torch.nn.") for base in self.bases)

    @property
    def optimizer(self) -> bool:
        """Whether it is built on one of torch's optimizers."""
        return any(base.startswith("torch.optim.") for base in self.bases)

    @property
    def called_scaler(self) -> bool:
        """Whether its instances are called like a loss scaler, and its constructor needs no
        arguments.
        """
        needs = any(not parameter.default for parameter in self.constructor())
        return "__call__" in self.methods and not needs and hints.suggests(self.name, "scaler")

    def constructor(self) -> list[Parameter]:
        """Parameters of the constructor."""
        init = self.method("__init__")
        inherited = [field for parent in reversed(self.parents) for field in parent.fields]
        return init.parameters if init else [*inherited, *self.fields]


@dataclass(frozen=True, eq=False, slots=True)
class Instance:
    """Marks values that are instances of a class of the program."""

    cls: Class
    """The class."""


@dataclass(frozen=True, eq=False, slots=True)
class Partial:
    """Marks the result of ``functools.partial``."""

    made: Call
    """The call of ``partial``: its first argument is what is called, the others are passed on."""

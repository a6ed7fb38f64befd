"""How a program takes its batches apart: by places, by keys, or not at all."""

import ast
from functools import cached_property

from harness.sandbox.batches.transitions import transition
from harness.sandbox.names.table import Table
from harness.sandbox.world.reading import (
    NamedUse,
    ProgramReading,
    assigned,
    gone_through,
    last_name,
)

OF_A_BATCH = frozenset({"input", "target", "mask", "index", "count", "lengths"})
"""Parts that only a batch has."""


class Unpacking:
    """What the batches of one program hold, by what it makes of them."""

    def __init__(self, reading: ProgramReading) -> None:
        """Nothing is looked up yet."""
        self._reading = reading
        self._nodes, self._table = reading.nodes, reading.table

    @cached_property
    def rows(self) -> dict[int, tuple[str, ...]]:
        """Orders in which batches are unpacked, by length: ``{2: ("input", "target")}``."""
        found: dict[int, tuple[str, ...]] = {}
        for target in self._unpacked_targets():
            parts = [self._part_of_a_row(e) for e in target.elts]
            if met := transition([_spelt(e) for e in target.elts]):
                found.setdefault(len(met), met)
                continue
            if target in self._loaded:
                parts = ["target" if p == "output" and "input" in parts else p for p in parts]
            elif "views" in parts:
                continue  # of two loaders at once
            others = {"output", "loss", "batch", "step", "epoch"}
            if not {"input", "views", "target", "targets"} & {*parts} or others & {*parts}:
                continue
            found.setdefault(len(parts), tuple(_in_order(parts)))
        if not found and (places := self._places()):
            parts = [places.get(i) for i in range(max(2, max(places) + 1))]
            found[len(parts)] = tuple(_in_order(parts))
        return found

    @cached_property
    def beside(self) -> tuple[str, ...]:
        """Names of loaders from which a turn draws beside another: ``zip(labelled, unlabelled)``."""
        found: dict[str, None] = {}
        for node in self._nodes:
            if isinstance(node, ast.Call) and last_name(node.func) == "zip":
                for one in node.args[1:]:
                    inner = one.args[0] if isinstance(one, ast.Call) and one.args else one
                    found.setdefault(_spelt(inner))
        return tuple(name for name in found if name)

    @cached_property
    def whole_beside(self) -> frozenset[str]:
        """Those of them whose element is the inputs alone: ``for (x, y), u in zip(one, other)``."""
        found = set[str]()
        for node in (n for n in self._nodes if isinstance(n, ast.For)):
            counted = isinstance(node.iter, ast.Call) and last_name(node.iter.func) == "enumerate"
            over = gone_through(node.iter) if counted else node.iter
            if isinstance(over, ast.Call) and last_name(over.func) == "zip":
                pairs = zip(_drawn(node.target, node.iter), over.args, strict=False)
                found |= {_spelt(loader) for target, loader in pairs if self._is_an_input(target)}
        return frozenset(found) & {*self.beside}

    def _is_an_input(self, target: ast.expr) -> bool:
        name = target.id if isinstance(target, ast.Name) else ""
        seen = self._reading.named.get(name, NamedUse())
        return self._table.part(name) == "input" and not (seen.taken_apart or seen.fields)

    def _part_of_a_row(self, element: ast.expr) -> str | None:
        """What one place of a row holds: a pair in it are two views of the inputs, or two targets."""
        if isinstance(element, ast.Tuple | ast.List) and len(element.elts) == 2:
            names = {_spelt(e) for e in element.elts}
            inner = {self._table.part(name) for name in names}
            if inner == {"target"}:
                return "targets"
            return "views" if inner <= {"input", None} and not names & {"", "_"} else None
        return self._table.part(_spelt(element)) if _spelt(element) else None

    @cached_property
    def _loaded(self) -> list[ast.expr]:
        """What loops over loaders assign to."""
        loops = [
            n for n in self._nodes if isinstance(n, ast.For) and self._is_over_a_loader(n.iter)
        ]
        counted = (n.target for n in loops if isinstance(n.target, ast.Tuple))
        return [n.target for n in loops] + [e for target in counted for e in target.elts]

    def _is_over_a_loader(self, iterated: ast.expr) -> bool:
        """``train_loader``, ``enumerate(train_loader)``."""
        name = last_name(gone_through(iterated)) or ""
        role = self._table.role(name, "objects")
        return role in ("loader", "validation") or (
            role == "logger" and name in self._reading.trained_over
        )

    def _places(self) -> dict[int, str]:
        """Parts by the places from which they are taken: ``x, y, m = mb[0], mb[1], mb[2]``."""
        found: dict[int, str] = {}
        for node in (n for n in self._nodes if isinstance(n, ast.Assign)):
            for name, value in assigned(node):
                place, part = _place(value), self._table.part(_spelt(name))
                if place is not None and part in OF_A_BATCH:
                    found.setdefault(place, part)
        return found if {"input", "target"} & {*found.values()} else {}

    def _unpacked_targets(self) -> list[ast.Tuple | ast.List]:
        targets: list[ast.expr] = []
        for node in self._nodes:
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                if isinstance(node.iter, ast.Tuple | ast.List | ast.Dict):
                    continue  # written out: these are no batches
                drawn = _drawn(node.target, node.iter)
                targets[:0] = drawn if self._is_over_a_loader(node.iter) else []
                targets += drawn
            elif isinstance(node, ast.Assign) and not isinstance(node.value, ast.Tuple):
                targets += node.targets
        inner = [e for t in targets if isinstance(t, ast.Tuple | ast.List) for e in t.elts]
        return [t for t in [*targets, *inner] if isinstance(t, ast.Tuple | ast.List)]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Texts by which parts of a batch are asked for: ``batch["input_ids"]``, in order."""
        found: dict[str, None] = {}
        of_a_batch = set[str]()
        for node in self._nodes:
            match node:
                case ast.Subscript(value=base, slice=ast.Constant(value=str(key))):
                    found.setdefault(key)
                    if self._table.part(_spelt(base)) == "batch":
                        of_a_batch.add(key)
                case ast.Call(
                    func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str(key)), *_]
                ):
                    found.setdefault(key)
        parts = OF_A_BATCH - {"index"}
        return tuple(k for k in found if k in of_a_batch or self._table.part(k) in parts)

    @cached_property
    def takes_mappings(self) -> bool:
        """Whether batches are mappings to it: keyed or spread as a whole, and never unpacked."""
        spread = any(
            isinstance(n, ast.Call) and _spreads_a_batch(n, self._table) for n in self._nodes
        )
        trainer = (
            "Trainer" in self._reading.mentioned and "TrainingArguments" in self._reading.mentioned
        )
        return not self.rows and (bool(self.keys) or spread or trainer)

    @cached_property
    def whole_tensors(self) -> bool:
        """Whether a loader's element is one tensor: a name of inputs that is never taken apart, or
        any name where the targets are free.
        """
        if not self.rows and any(self._table.role(n) == "target" for n in self._reading.free):
            return not self.keys
        for node in self._nodes:
            if not isinstance(node, ast.For | ast.comprehension):
                continue
            targets = [
                node.target,
                *(node.target.elts if isinstance(node.target, ast.Tuple) else []),
            ]
            for target in targets:
                if not isinstance(target, ast.Name) or self._table.part(target.id) not in (
                    "input",
                    "batch",
                ):
                    continue
                seen = self._reading.named.get(target.id, NamedUse())
                if (
                    self._table.part(target.id) == "input"
                    and not seen.taken_apart
                    and not self.rows
                ):
                    return not any(self._table.part(f) for f in seen.fields)
        return False


def _drawn(target: ast.expr, iterated: ast.expr) -> list[ast.expr]:
    """What the turns of a loop bind, without their number; of several things at once each."""
    called = last_name(iterated.func) if isinstance(iterated, ast.Call) else None
    if isinstance(iterated, ast.Call) and called in ("enumerate", "tqdm") and iterated.args:
        counted = called == "enumerate"
        inner = target.elts[-1] if counted and isinstance(target, ast.Tuple) else target
        return _drawn(inner, iterated.args[0])
    return target.elts if called == "zip" and isinstance(target, ast.Tuple) else [target]


def _spreads_a_batch(call: ast.Call, table: Table) -> bool:
    spread = (k.value for k in call.keywords if k.arg is None)
    return any(isinstance(v, ast.Name) and table.part(v.id) in ("batch", "input") for v in spread)


def _spelt(tree: ast.expr) -> str:
    match tree:
        case ast.Starred(value=inner):
            return _spelt(inner)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""


def _place(tree: ast.expr) -> int | None:
    """``mb[2]``, also moved to a device: 2."""
    match tree:
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=int(place))) if place >= 0:
            return place
        case ast.Call(func=ast.Attribute(value=inner, attr="to" | "cuda" | "float" | "long")):
            return _place(inner)
    return None


def _in_order(parts: list[str | None]) -> list[str]:
    """What each place holds; one that its name does not tell gets what is left."""
    left = [p for p in ("input", "target", "mask") if p not in parts]
    if "views" in parts:
        left.remove("input")
    if "targets" in parts:
        left.remove("target")
    named = [p if p is not None else (left.pop(0) if left else "nothing") for p in parts]
    if "target" not in named and "mask" in named:
        named[named.index("mask")] = "target"  # ``img, mask`` of a segmentation
    return named

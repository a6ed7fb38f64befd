"""A page is a session: what a block reads and does not define, from what the page defines. Pure but for
one look at which packages are installed.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from sys import stdlib_module_names

from harness.checking.models_shown import models_never_made
from harness.domain.skill import Example, Part
from harness.extraction.names import DEFINITIONS, Statement, bound_names, free_names, statements
from harness.sandbox.absent.watching import STOOD_IN, WATCHING
from harness.sandbox.names.table import libraries, table
from harness.skills.kinds import uses
from harness.skills.python import parsed
from harness.syntax import dotted, tree_of, walk

_OBJECTS = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign,
    ast.AnnAssign, ast.With,
)  # fmt: skip
_TRAINS = frozenset({
    "backward", "manual_backward", "step", "fit", "launch", "print", "savefig", "show", "zero_grad",
    "clip_grad_norm_", "clip_grad_value_", "eval", "train",
})  # fmt: skip
"""Calls of statements that leave no object as it is meant to be taken from there: what happens in one
turn, or sets the mode for what follows on the spot.
"""
_CODE = (*DEFINITIONS, ast.Import, ast.ImportFrom)
_TEMPORARY = re.compile(r"""(["'])/tmp/""")
"""A folder for files of a moment: a block's own is one, and no other can be written."""
_MOMENTS = frozenset({"loss", "output"})
"""Roles of names that hold for one turn of a loop: what a page computed once is none of them."""


@dataclass(frozen=True, slots=True)
class BlockInContext:
    """A block with what it takes from its page."""

    text: str
    """What is run."""
    lines: tuple[int, ...]
    """For each of its lines the line of the page."""
    own: int
    """How many lines come from elsewhere on the page; the block's own follow."""
    guessed: frozenset[str] = frozenset()
    """Names of objects that the page makes in several ways, taken from another section of it."""
    lacking: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Packages that are not installed, by the names of what the page makes with them."""
    granted: frozenset[str] = frozenset()
    """Names of libraries that the page does not import: it may mean another library's ``nn``."""

    @property
    def tree(self) -> ast.Module:
        """What is run, parsed."""
        return tree_of(self.text)

    @property
    def is_completed(self) -> bool:
        """Whether lines of ours stand between its own."""
        return 0 in self.lines[self.own : -1]

    def is_own(self, line: int | None) -> bool:
        """Whether a line of it is one of the block, and none of ours between them."""
        return line is not None and line > self.own and self.place(line) > 0

    def place(self, line: int) -> int:
        """The line of the page."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else 0


@dataclass(frozen=True, slots=True)
class _Source:
    """A statement of the page that defines something."""

    statement: Statement
    text: str
    line: int
    """Its first line on the page."""
    wrong: bool
    """Whether its author warns of it."""
    place: tuple[int, int]
    """The lines of its block and its part."""
    section: tuple[str, ...]
    """The headings above it."""
    changes: frozenset[str] = frozenset()
    """Names of objects that it leaves otherwise than it found them: ``freeze(model)``."""
    lacks: bool = False
    """Whether its block imports what is not installed, and so may have changed more than is seen."""
    absent: frozenset[str] = frozenset()
    """Packages that it imports itself, which are not installed and nothing stands in for."""


class Session:
    """The definitions of one page, in the order in which they stand."""

    def __init__(self, examples: Sequence[Example]) -> None:
        """``examples``: all of one page."""
        self._sources: list[_Source] = []
        self._modules = _modules_of(examples)
        self._first: dict[tuple[int, int], int] = {}
        self._programs: dict[tuple[int, int, bool], BlockInContext] = {}
        for example in examples:
            for part in example.parts:
                self._first[example.line, part.line] = len(self._sources)
                self._sources += _sources(part.shared, example, None)
                self._sources += _sources(part.code, example, part)

    def program(self, example: Example, part: Part, *, lend: bool = False) -> BlockInContext:
        """The block, behind what it needs: the last definition above it, else the first below.
        ``lend``: what can be lent is not taken from the page.
        """
        key = (example.line, part.line, lend)
        if key not in self._programs:
            self._programs[key] = self._put_together(example, part, lend=lend)
        return self._programs[key]

    def _put_together(self, example: Example, part: Part, *, lend: bool) -> BlockInContext:
        here = self._first[example.line, part.line]
        shared = len(_sources(part.shared, example, None))
        tree = parsed(part.code)
        own = statements(tree) if tree is not None else ()
        taken = _Taking(
            self._sources,
            here + shared,
            _made_by(own),
            moments=_goes_back(part.code),
            turns=any(
                uses(s.node).goes_back for s in own if isinstance(s.node, ast.For | ast.While)
            ),
            named=frozenset(n.id for s in own for n in walk(s.node) if isinstance(n, ast.Name)),
        )
        asked = frozenset[str]().union(*(s.needs | s.needs_later for s in own))
        needed = sorted(free_names(own) | (asked & {"input"}) - _made_by(own))
        lend = lend or (taken.moments and any(map(taken.is_of_a_moment, needed)))
        for name in needed:
            taken.ask(name)
            if not (lend and table().find(name) is not None) or taken.is_imported(name):
                taken.take(name)
        for name in self._model_for(needed, own, here):
            taken.take(name)
        found = [self._sources[n] for n in sorted(taken.chosen, key=self._order)]
        everything = "\n".join([*(s.text for s in found), part.code])
        imports = list(_taken_for_granted(everything)) if tree is not None else []
        imports += _of_its_packages(everything, self._modules)
        imports += [
            f"def {name}(*_, **__): pass"
            for name in _done_elsewhere("\n".join([*imports, everything]))
        ]
        texts = [*imports, *(s.text for s in found), part.code]
        starts = [*(0 for _ in imports), *(s.line for s in found), part.line]
        lines = [
            begin + n
            for text, begin in zip(texts, starts, strict=True)
            for n, _ in enumerate(text.split("\n"))
        ]
        text = _TEMPORARY.sub(r"\1", "\n".join(texts))
        own_from = sum(t.count("\n") + 1 for t in texts[:-1])
        guessed = taken.unsure | {*self._guessed(found, example, part)}
        granted = frozenset(_not_imported(everything))
        return BlockInContext(text, tuple(lines), own_from, guessed, taken.lacking, granted)

    def _model_for(self, needed: Sequence[str], own: Sequence[Statement], here: int) -> list[str]:
        """The class of a model that nothing on the page makes an object of, where a block speaks of one
        that the page never makes, and gives it one thing: the only such class, and shown above.
        """
        bound = {name for source in self._sources for name in source.statement.binds}
        models = {n for n in needed if n not in bound and table().role(n) == "model"}
        calls = (n for s in own for n in walk(s.node) if isinstance(n, ast.Call))
        given = [len(c.args) + len(c.keywords) for c in calls if dotted(c.func) in models]
        if not models or any(number != 1 for number in given):
            return []
        above = {name for source in self._sources[:here] for name in source.statement.binds}
        found = self._never_made
        return found if len(found) == 1 and found[0] in above else []

    @cached_property
    def _never_made(self) -> list[str]:
        return models_never_made(source.statement.node for source in self._sources)

    def _guessed(self, found: Sequence[_Source], example: Example, part: Part) -> Iterator[str]:
        """Names that the page gives to several things, taken from another section or alternative."""
        here = (example.line, part.line)
        for source in found:
            is_object = not isinstance(source.statement.node, _CODE)
            if is_object and source.lacks:
                yield from source.statement.binds
            block, at = source.place
            near = source.section == example.headings and (block != example.line or not at)
            sure = not is_object or (near and not source.wrong)
            for name in () if sure else source.statement.binds:
                others = (s for s in self._sources if s.place != here and name in s.statement.binds)
                if len({other.text for other in others}) > 1:
                    yield name

    def _order(self, n: int) -> tuple[bool, int]:
        """Imports first: a page may show them after what needs them."""
        imports = (ast.Import, ast.ImportFrom)
        return not isinstance(self._sources[n].statement.node, imports), n


@dataclass(frozen=True, slots=True)
class _How:
    """How much may be missing from what a statement needs."""

    whole: bool = False
    """Nothing but libraries: what is computed of what was lent belongs to one turn of a loop."""
    at_any_rate: bool = False
    """Anything: the error tells what."""


class _Taking:
    """Which statements a block takes."""

    def __init__(
        self,
        sources: Sequence[_Source],
        before: int,
        own: frozenset[str],
        *,
        moments: bool,
        turns: bool = False,
        named: frozenset[str] = frozenset(),
    ) -> None:
        """``own``: what the block binds itself: what was made with another of that name is of no use
        to it. ``moments``: whether it goes back; ``turns``: in a loop. ``named``: every name in it.
        """
        self._sources, self._before, self.moments = sources, before, moments
        self._own, self._turns, self._named = own, turns, named
        self.chosen: set[int] = set()
        self.lacking: dict[str, frozenset[str]] = {}
        """What packages that are not installed would have made, and which these are."""
        self._absent: frozenset[str] = frozenset()
        self.unsure: frozenset[str] = frozenset()
        """Names by which the page may mean another thing: what is nearer and cannot be had, or what a
        turn of a loop computes.
        """
        self._binding: dict[str, list[int]] = {}
        for n, source in enumerate(sources):
            for name in source.statement.binds:
                self._binding.setdefault(name, []).append(n)
        self._known: dict[tuple[int, _How], set[int] | None] = {}
        """What statements need, as far as that is the same wherever it is asked."""
        self._in_a_circle = False
        """Whether the last answer hangs on what is being looked for."""

    def ask(self, name: str) -> None:
        """Note which packages that are not installed would have made what a name stands for."""
        self._known.clear()
        self._absent = frozenset()
        first = next(self._candidates(name, self._before), None)
        if first is not None and self._needed(first, frozenset(), how=_How()) is None:
            self.lacking[name] = self._absent

    def take(self, name: str) -> None:
        """Choose what defines a name, and what that needs."""
        if self.is_of_a_moment(name):
            return
        self._known.clear()  # what is chosen by now is not chosen again
        candidates = list(self._candidates(name, self._before))
        how = _How(whole=table().part(name) is not None)
        before = set(self.chosen)
        for n in candidates:
            found = self._needed(n, frozenset(), how=how)
            if found is None:
                continue
            self.chosen |= found
            self._leave_as_its_block_does(found)
            if table().role(name) == "optimizer" and self._holds_another(self.chosen - before):
                self.chosen = {*before}
                self._known.clear()
                continue
            if n != candidates[0] or (self.moments and table().role(name) in _MOMENTS):
                self.unsure |= {name}
            return
        if candidates and (self._is_package(candidates[0]) or not _is_lent(name)):
            any_ = _How(at_any_rate=True)
            self.chosen |= self._needed(candidates[0], frozenset(), how=any_) or set()

    def _leave_as_its_block_does(self, found: set[int]) -> None:
        """Choose what the blocks of chosen objects do to them beside making them."""
        made = [self._sources[n] for n in found]
        places = {s.place for s in made if not isinstance(s.statement.node, _CODE)}
        names = {name for s in made for name in (*s.statement.binds, *s.statement.needs)}
        for n, source in enumerate(self._sources):
            if source.place in places and source.changes & names and n not in self.chosen:
                self.chosen |= self._needed(n, frozenset(), how=_How()) or set()

    def is_imported(self, name: str) -> bool:
        """Whether the page means a package by that name."""
        return any(map(self._is_package, self._binding.get(name, [])))

    def is_of_a_moment(self, name: str) -> bool:
        """Whether a turn of a loop computes it anew, on the model of that loop; nothing that the page
        computes above of nothing but its own.
        """
        if not self.moments or table().role(name) not in _MOMENTS:
            return False
        above = [n for n in self._candidates(name, self._before) if n < self._before]
        alone = not self._turns and above
        return not alone or self._needed(above[0], frozenset(), how=_How(whole=True)) is None

    def _holds_another(self, made: set[int]) -> bool:
        """Whether an optimizer, by all that makes it, holds parameters of nothing that the block names,
        which names a model.
        """
        nodes = (self._sources[n].statement.node for n in made)
        held = {name for node in nodes if not isinstance(node, _CODE) for name in _held_by(node)}
        models = any(table().role(name) == "model" for name in self._named)
        return bool(held) and models and not held & self._named

    def _candidates(self, name: str, before: int) -> Iterator[int]:
        bound = self._binding.get(name, [])
        above = [n for n in reversed(bound) if n < before]
        everything = [*above, *(n for n in bound if n >= before)]
        yield from sorted(everything, key=lambda n: self._sources[n].wrong)

    def _needed(self, n: int, seen: frozenset[int], *, how: "_How") -> set[int] | None:
        """The statement and what it needs; ``None`` where something of that is nowhere to be had, or
        is another one than the block takes.
        """
        key = n, how
        if key not in self._known:
            outer, self._in_a_circle = self._in_a_circle, False
            found = self._sought(n, seen, how=how)
            if found is not None and self._in_a_circle:
                self._in_a_circle = True
                return found  # what comes before it in the circle is not in it
            self._known[key] = found
            self._in_a_circle |= outer
        return self._known[key]

    def _sought(self, n: int, seen: frozenset[int], *, how: "_How") -> set[int] | None:
        source = self._sources[n]
        if not how.at_any_rate and source.absent:
            self._absent |= source.absent
            return None
        found = {n}
        needs = source.statement.needs | source.statement.needs_later
        for name in sorted(needs - _BUILTINS):
            one = self._resolved(name, n, seen | {n}, how=how)
            if one is None:
                return None
            found |= one
        return found

    def _resolved(
        self, name: str, before: int, seen: frozenset[int], *, how: "_How"
    ) -> set[int] | None:
        if name in self._own and not how.at_any_rate:
            return None
        taken = [c for c in self.chosen if name in self._sources[c].statement.binds]
        if taken:
            there = how.at_any_rate or any(c < before or self._is_package(c) for c in taken)
            return set() if there else None
        for candidate in self._candidates(name, before):
            if candidate in seen or self._does_it_again(candidate, seen):
                self._in_a_circle = True
                continue
            found = self._needed(candidate, seen, how=how)
            if found is not None:
                return found
            if self._is_package(candidate):
                return None
        if any(name in self._sources[c].statement.binds and self._defines(c) for c in seen):
            self._in_a_circle = True
            return set()  # it calls itself
        lent = name in libraries() if how.whole else _is_lent(name)
        return set() if how.at_any_rate or lent else None

    def _does_it_again(self, n: int, seen: frozenset[int]) -> bool:
        """Whether it does to a name what another has done to it: ``model = DDP(model)``, shown twice."""
        mine = self._sources[n]
        return any(
            self._sources[c].statement.binds == mine.statement.binds
            and _made_with(self._sources[c]) == _made_with(mine) != ""
            for c in seen
        )

    def _is_package(self, n: int) -> bool:
        """Whether it imports: a package is no object that could be lent."""
        return isinstance(self._sources[n].statement.node, ast.Import | ast.ImportFrom)

    def _defines(self, n: int) -> bool:
        return isinstance(self._sources[n].statement.node, DEFINITIONS)


_BUILTINS = frozenset(dir(builtins)) - {"input"} | {"__name__", "__file__"}
"""Names that a page need not define; nobody means the one that is left out."""


def packages_of(tree: ast.AST) -> frozenset[str]:
    """Packages that it imports and does not try in vain to import."""
    guarded = {id(n) for t in walk(tree) if isinstance(t, ast.Try) for s in t.body for n in walk(s)}
    found: set[str] = set()
    for node in walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return frozenset(found)


def names_from(package: str, tree: ast.Module) -> frozenset[str]:
    """Names that a program has of a package, of classes and functions that use these, and of what is
    made with them at once.
    """
    nodes = walk(tree)
    found = {
        alias.asname or alias.name.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom) and package in packages_of(node)
        for alias in node.names
    }
    kinds = [n for n in nodes if isinstance(n, DEFINITIONS)]
    found |= {k.name for k in kinds if found & {n.id for n in walk(k) if isinstance(n, ast.Name)}}
    made = (n for n in nodes if isinstance(n, ast.Assign))
    return frozenset(found).union(
        t.id
        for node in made
        if dotted(node.value).partition(".")[0] in found
        for t in node.targets
        if isinstance(t, ast.Name)
    )


def last_of(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return dotted(node).rpartition(".")[2]


def leaves_out(node: ast.AST) -> bool:
    """``target = ...``: an object that its reader has to think of; ``x[..., 0]`` leaves nothing out."""
    value = getattr(node, "value", None)
    if not isinstance(value, ast.expr):
        return False
    slices = {id(m) for n in walk(value) if isinstance(n, ast.Subscript) for m in walk(n.slice)}
    return any(
        isinstance(n, ast.Constant) and n.value is ... and id(n) not in slices for n in walk(value)
    )


@cache
def is_here(package: str) -> bool:
    """Whether a package is installed; of one that several distributions share (``google``), and of
    which a part may be, nobody knows.
    """
    if package in stdlib_module_names:
        return True
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None


def is_real(package: str) -> bool:
    """Whether it is installed, and nothing stands in for it where programs run."""
    return is_here(package) and package not in WATCHING


@cache
def release(package: str) -> str:
    """``torch 2.13.0``."""
    names = packages_distributions().get(package, [package])
    try:
        return f"{package} {version(names[0])}"
    except PackageNotFoundError:
        return package


def _sources(code: str, example: Example, part: Part | None) -> list[_Source]:
    """Definitions in a part, or in what its parts share."""
    line, wrong = (part.line, _is_wrong(part)) if part else (example.line + 1, False)
    place = example.line, part.line if part else 0
    tree = parsed(code)
    texts = code.split("\n")
    found = []
    lacks = tree is not None and not all(map(is_here, packages_of(tree)))
    for statement in statements(tree) if tree is not None else ():
        node = statement.node
        changes = frozenset(_changed_by(node))
        if (isinstance(node, _OBJECTS) or changes) and not leaves_out(node):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            text = "\n".join(texts[first - 1 : node.end_lineno])
            at = line + first - 1
            absent = frozenset(p for p in packages_of(node) - STOOD_IN if not is_here(p))
            found.append(
                _Source(statement, text, at, wrong, place, example.headings, changes, lacks, absent)
            )
    return found


def _changed_by(node: ast.stmt) -> Iterator[str]:
    """Names of objects that a statement at module level may leave otherwise than it found them."""
    if isinstance(node, _CODE) or _is_of_a_turn(node):
        return
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        inner = [t for t in targets if isinstance(t, ast.Attribute | ast.Subscript)]
        yield from (dotted(t.value).partition(".")[0] for t in inner)
    elif isinstance(node, ast.For | ast.With):
        if isinstance(node, ast.For):
            yield from (n.id for n in walk(node.iter) if isinstance(n, ast.Name))
        for statement in _within(node):
            yield from _changed_by(statement)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from (dotted(n).partition(".")[0] for n in (node.value.func, *node.value.args))


def _within(node: ast.For | ast.With) -> Iterator[ast.stmt]:
    """What it does, under a condition or not."""
    for statement in node.body:
        if isinstance(statement, ast.If):
            yield from (*statement.body, *statement.orelse)
        else:
            yield statement


def _is_of_a_turn(node: ast.stmt) -> bool:
    """Whether it belongs to training: it calls for that, or reads a gradient."""
    reads = any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in walk(node))
    called = {last_of(n) for n in _called(node)}
    return reads or bool(_TRAINS & called) or any(table().role(n) == "training" for n in called)


def _held_by(node: ast.stmt) -> Iterator[str]:
    """``net`` of ``Adam(net.head.parameters())``, ``x`` of ``Adam([x])``."""
    lists = (n for n in walk(node) if isinstance(n, ast.List))
    yield from (e.id for n in lists for e in n.elts if isinstance(e, ast.Name))
    for called in _called(node):
        if last_of(called) in ("parameters", "named_parameters"):
            yield dotted(called).partition(".")[0]


def _called(node: ast.stmt) -> Iterator[ast.expr]:
    return (n.func for n in walk(node) if isinstance(n, ast.Call))


def _taken_for_granted(code: str) -> Iterator[str]:
    """Imports that every reader adds: ``torch``, ``nn``, ``DataLoader``."""
    tree = tree_of(code)
    for name in sorted(free_names(statements(tree))):
        path = libraries().get(name, "")
        package = path.partition(".")[0]
        known = package in ("torch", "numpy") or package in stdlib_module_names
        if known and table().find(name) is None and not is_bare(name, tree):
            module, _, last = path.rpartition(".")
            yield f"from {module} import {last} as {name}" if module else f"import {path} as {name}"


def _not_imported(code: str) -> Iterator[str]:
    """Names of libraries that their own name does not tell, and nobody imports: ``nn``, ``Adam``."""
    for name in free_names(statements(tree_of(code))) & {*libraries()}:
        package = libraries()[name].partition(".")[0]
        if package not in (*stdlib_module_names, name):
            yield name


def _modules_of(examples: Sequence[Example]) -> tuple[str, ...]:
    """Modules of installed packages that a page takes names from, and those that hold them."""
    found: dict[str, None] = {}
    for tree in (parsed(part.code) for example in examples for part in example.parts):
        for node in walk(tree) if tree is not None else ():
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            elif isinstance(node, ast.Name):
                names = [libraries().get(node.id, "").rpartition(".")[0]]
            for name in names:
                parts = name.split(".")
                found |= {".".join(parts[: n + 1]): None for n in reversed(range(len(parts)))}
    return tuple(m for m in found if m.partition(".")[0] not in (*stdlib_module_names, ""))


def _of_its_packages(code: str, modules: Sequence[str]) -> list[str]:
    """Imports of classes that nobody shows, and that a package of the page has: ``Trainer``."""
    free = free_names(statements(tree_of(code))) - {*libraries()}
    wanted = sorted(n for n in free if n[:1].isupper() and table().find(n) is None)
    having = ((n, next((m for m in modules if n in names_of_module(m)), None)) for n in wanted)
    return [f"from {module} import {name}" for name, module in having if module]


@cache
def names_of_module(module: str) -> frozenset[str]:
    """What an installed module hands out, by its own text: it is not imported."""
    top, *inner = module.split(".")
    spec = find_spec(top) if is_here(top) else None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        for path in (Path(place, *inner, "__init__.py"), Path(place, *inner).with_suffix(".py")):
            if path.is_file():
                beside = path.parent.iterdir() if path.stem == "__init__" else ()
                names = _handed_out(tree_of(path.read_text("utf-8")))
                return frozenset((*names, *(p.stem for p in beside)))
    return frozenset()


def _handed_out(tree: ast.Module) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # of a list of names, such as ``__all__``


def _done_elsewhere(code: str) -> list[str]:
    """Names of functions that a reader writes: called, and nobody looks at what they return."""
    tree = tree_of(code)
    plain = {
        id(node.value.func)
        for node in walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    }
    free = free_names(statements(tree)) - _BUILTINS - {*libraries()}
    used = {
        name: [n for n in walk(tree) if isinstance(n, ast.Name) and n.id == name] for name in free
    }
    return sorted(
        name
        for name, places in used.items()
        if table().find(name) is None and all(id(place) in plain for place in places)
    )


def is_bare(name: str, tree: ast.Module) -> bool:
    """Whether a name is used as no library is: neither called nor asked for something."""
    within = {id(n.value) for n in walk(tree) if isinstance(n, ast.Attribute)}
    within |= {id(n.func) for n in walk(tree) if isinstance(n, ast.Call)}
    return any(isinstance(n, ast.Name) and n.id == name and id(n) not in within for n in walk(tree))


def _made_with(source: _Source) -> str:
    value = getattr(source.statement.node, "value", None)
    return dotted(value.func) if isinstance(value, ast.Call) else ""


def _made_by(own: Sequence[Statement]) -> frozenset[str]:
    imports = (ast.Import, ast.ImportFrom)
    return bound_names(tuple(s for s in own if not isinstance(s.node, imports)))


def _is_lent(name: str) -> bool:
    return name in libraries() or table().find(name) is not None


def _is_wrong(part: Part) -> bool:
    return part.mark is not None and part.mark.polarity in ("wrong", "suboptimal")


def _goes_back(code: str) -> bool:
    return "backward(" in code or ".step(" in code

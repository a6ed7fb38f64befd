"""Several networks that a program is lent one behind the other: ``head(encoder(x))``."""

import ast
import copy
import re
from collections.abc import Iterable, Mapping

from torch import nn

from harness.sandbox.names.table import Table, words
from harness.sandbox.recorder.modes import STANDS_FOR_ANY
from harness.sandbox.world import policies
from harness.sandbox.world.parts_of import BACK, front_of, trainable
from harness.sandbox.world.reading import ProgramReading, last_name
from harness.sandbox.world.values import Values
from harness.workloads.widths import take_any_width

PART = re.compile(
    r"encoder|decoder|backbone|trunk|body|stem|neck|heads?|classifier|project(or|ion)|predictor"
    r"|embedder|embeddings?|extractor|feat|features|tower|net|network|model|clf|dom|enc|dec"
)
"""Words that mean a network, or a part of one."""

SAYS_OPTIMIZER = frozenset({"opt", "optim", "optimizer", "optimiser"})
"""Words of an optimizer's name that say nothing of its network."""


class Networks:
    """The networks of one program by name; none where it is lent a single model, or others' parts."""

    def __init__(
        self, values: Values, reading: ProgramReading, table: Table, known: Mapping[str, str]
    ) -> None:
        """The workload's model is cut in two; each front is a copy of its front, and so the backs.
        ``known``: roles that scouts found out, by name.
        """
        self.given: dict[str, nn.Module] = {}
        asked = getattr(values.workload.parameters, "elastic", False)
        self.elastic = bool(asked) and not reading.builds_models
        """Whether each is a whole model that takes whatever it is given."""
        self.policy = False
        """Whether they are a policy and its critic."""
        self.halves: dict[str, nn.Module] = {}
        """Two parts of the one model, of which the program asks the parameters alone, by name."""
        if self.elastic:
            self._each_of_its_own(values, reading, table, known)
            return
        self._parts(values, reading, table)
        self.halves = {} if self.given else _halves(values, reading, table)

    def _parts(self, values: Values, reading: ProgramReading, table: Table) -> None:
        inputs = values.batches[0].inputs
        if policies.is_about(reading) and inputs.is_floating_point() and inputs.dim() == 2:
            self.given = policies.networks(reading, table, inputs.shape[1])
            self.policy = bool(self.given)
        if self.policy:
            values.trained = nn.ModuleList(self.given.values())
            return
        given = dict.fromkeys((*reading.free, *reading.open_parameters))
        names = [n for n in given if _is_network(n, reading, table)]
        children = trainable(values.model)
        cut = len(children) > 1 and isinstance(values.model, nn.Sequential)
        fronts = [n for n in names if not any(map(BACK.match, words(n))) and not _is_aside(n)]
        if values.parts or not cut or len(names) < 2 or not 0 < len(fronts) < len(names):
            return
        for name in names:
            part = front_of(values.model, children) if name in fronts else children[-1]
            if name not in fronts and isinstance(part, nn.Linear) and _gives_one(name, reading):
                part = nn.Linear(part.in_features, 1)
            self.given[name] = copy.deepcopy(part) if self._has(part) else part
            take_any_width(self.given[name])
            vars(self.given[name])[STANDS_FOR_ANY] = True
        values.trained = nn.ModuleList(self.given.values())

    def _each_of_its_own(
        self, values: Values, reading: ProgramReading, table: Table, known: Mapping[str, str]
    ) -> None:
        """A copy of the model for each name that is called like one, where there are several."""
        called = [last_name(n.func) for n in reading.nodes if isinstance(n, ast.Call)]
        roles = {full.rpartition(".")[2]: role for full, role in known.items()}
        own = {s.name for s in reading.nodes if isinstance(s, ast.FunctionDef | ast.ClassDef)}
        names = [
            n for n in dict.fromkeys(called)
            if n and n not in own and _means_a_network(n, roles.get(n) or table.role(n))
        ]  # fmt: skip
        if len(names) > 1:
            self.given = {name: copy.deepcopy(values.model) for name in names}
            values.trained = nn.ModuleList(self.given.values())

    def _has(self, part: nn.Module) -> bool:
        inside = {id(p) for m in self.given.values() for p in m.parameters()}
        return any(id(p) in inside for p in part.parameters())

    def says(self, name: str, others: Iterable[str]) -> bool:
        """Whether its name says which an optimizer of several is for; ``others`` may say it of all but
        one, unless each is a whole model.
        """
        if self._named_in(name):
            return True
        return not self.elastic and any(self._named_in(other) for other in others)

    def half_of(self, name: str) -> nn.Module | None:
        """The half of the model that an optimizer is for, by a word that it shares with that alone."""
        found = [m for n, m in self.halves.items() if {*words(n)} & {*words(name)}]
        return found[0] if len(found) == 1 else None

    def meant_by(self, name: str, others: Iterable[str]) -> list[nn.Module]:
        """Those that an optimizer or a list of parameters is for; ``others`` are for the rest."""
        found = self._named_in(name)
        if found:
            return [self.given[n] for n in found]
        taken = {n for other in others if other != name for n in self._named_in(other)}
        return [m for n, m in self.given.items() if n not in taken]

    def _named_in(self, name: str) -> list[str]:
        said = {*words(name)}
        if self.elastic:
            shared = {n: len(said & {*words(n)}) for n in self.given}
            most = max(shared.values())
            return [n for n, count in shared.items() if count == most > 0]
        found = [n for n in self.given if any(words(n)[0].startswith(w) for w in said)]
        if found or not self.policy:
            return found
        side = policies.side_of(" ".join(w for w in words(name) if w not in SAYS_OPTIMIZER))
        return [n for n in self.given if side and policies.side_of(n) == side]


def _halves(values: Values, reading: ProgramReading, table: Table) -> dict[str, nn.Module]:
    """The front and the back of the model, for two names that are never called: what trains them is not
    shown, and goes through both.
    """
    children = trainable(values.model)
    asked = [n for n in reading.free if "parameters" in reading.asked_of(n) & reading.called]
    names = [n for n in asked if n not in reading.called and table.role(n) in (None, "model")]
    cut = len(children) > 1 and isinstance(values.model, nn.Sequential) and not values.parts
    if len(names) != 2 or not cut:
        return {}
    return {names[0]: front_of(values.model, children), names[1]: children[-1]}


def _is_network(name: str, reading: ProgramReading, table: Table) -> bool:
    """Whether a name is called, and means a network or a part of one."""
    if name not in reading.called_plainly or not name[0].islower():
        return False
    return _means_a_network(name, table.role(name))


def _means_a_network(name: str, role: str | None) -> bool:
    return role == "model" or (role is None and any(map(PART.fullmatch, words(name))))


def _gives_one(name: str, reading: ProgramReading) -> bool:
    """Whether the one column of what it gives is taken away at once: ``domain_head(z).squeeze(-1)``."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == "squeeze"
        and isinstance(node.value, ast.Call) and last_name(node.value.func) == name
        for node in reading.nodes
    )  # fmt: skip


def _is_aside(name: str) -> bool:
    return words(name)[0] in ("aux", "auxiliary")

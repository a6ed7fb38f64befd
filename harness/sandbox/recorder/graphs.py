"""What backward goes through: parameters that get gradients and are in no optimizer, and losses that go
backward a second time as part of a later one. Looked at in a program's own world, and where no
scenario says what it is for.
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils import checkpoint
from torch.utils.weak import TensorWeakRef

from harness.domain.facts_of_run import UnheldParameter, UnheldWhy
from harness.sandbox.recorder import prototypes
from harness.sandbox.recorder.constants import Constants, sums
from harness.sandbox.recorder.draws import Draws
from harness.sandbox.recorder.nodes import MOST_NODES, GraphNode, factor_of
from harness.sandbox.recorder.scalers import Scalers
from harness.sandbox.recorder.tape import LARGE, Tape, dense
from harness.sandbox.recorder.teachers import Teachers
from harness.sandbox.recorder.weights import compares_all, reductions, weigh_nothing

OFTEN = 3
"""In so many graphs a parameter is before it is asked why nobody holds it."""


@dataclass(slots=True)
class _Leaf:
    """A leaf that some backward reached while no optimizer held it."""

    found: TensorWeakRef
    value: Tensor | None
    name: str
    seen: int = 0
    examined: bool = False
    why: UnheldWhy | None = None
    held: bool = False
    changed: bool = False
    asked: bool = False


@dataclass(slots=True)
class _Gone:
    """A loss that went backward, and the parameters that hold its gradient."""

    roots: list[GraphNode]
    leaves: list[Tensor]
    again: bool = False
    plain: bool = False
    """No loss scale is in it, though a scaler scales other losses."""


class Reached(NamedTuple):
    """What a backward goes through."""

    at_input: bool = False
    """An input that asks for a gradient."""
    covers: bool = False
    """A loss that had gone backward since the last step."""
    plain: bool = False
    """A loss without the scale that a scaler has for others."""


@dataclass(slots=True)
class _Graph:
    """The nodes of one graph, inputs before what is computed of them."""

    nodes: dict[GraphNode, None] = field(default_factory=dict)
    leaves: dict[int, Tensor] = field(default_factory=dict)
    whole: bool = True


class Graphs:
    """Looks at the graph of each backward, before it is gone."""

    lost_weights: str | None = None
    """What weights of samples were multiplied with, so that they weigh nothing."""
    crossed: str | None = None
    """Shapes of which each number was compared with each."""

    def __init__(
        self, tape: Tape, optimizers: Callable[[], Iterable[Optimizer]], scalers: Scalers
    ) -> None:
        """``optimizers``: those that the program has now."""
        self._tape = tape
        self._scalers = scalers
        self.constants, self.draws, self.teachers = Constants(), Draws(), Teachers()
        self._optimizers = optimizers
        self._leaves: dict[int, _Leaf] = {}
        self._gone: list[_Gone] = []
        self._frozen: set[str] = set()
        self._stepped = False
        self._twice = self._piled = self._unscaled = 0
        self._fed: set[int] = set()
        self._made: dict[type[nn.Module], int] = {}
        self._came_out: set[int] = set()
        self._reached = Counter[int]()
        """Parameters that made what a model of the program's own returned, and how many backwards went
        to which, by their ids. ``_made``: how many calls were looked at, by class."""
        self._wiped: dict[int, str] = {}
        """Names of those that backwards went to and that had no gradient left when their optimizer
        stepped, by their ids, where they had none so far."""
        self._steps: dict[int, int] = {}
        """How often each parameter was in an optimizer that stepped, by its id; those with a gradient
        are in ``_fed``."""
        self._divisors = Counter[int]()
        """By what losses were divided two times in a row, and in how many backwards."""
        self._cut = _cut_checkpoints()
        prototypes.install()
        self._again = self._evaluates = False
        """Whether a closure that was evaluated in this step before is evaluated again now; and whether
        there is one at all, which makes the gradients once the step has begun."""

    def before_backward(self, roots: Iterable[Tensor], *, again: bool) -> Reached:
        """``again``: whether its gradients can be differentiated again."""
        starts = [root.grad_fn for root in roots if root.grad_fn is not None]
        if again or not starts:
            return Reached()
        graph = _graph(starts)
        self.draws.before_backward(graph.nodes)
        if len(starts) == 1:
            self.constants.before_backward(starts[0], graph.nodes, stepped=self._stepped)
        reduced = reductions(graph.nodes)
        self.lost_weights = self.lost_weights or weigh_nothing(reduced)
        self.crossed = self.crossed or compares_all(reduced)
        self._reached.update(graph.leaves.keys())  # of a mapping it would add the values
        self._divisors[_divided_twice(starts[0]) if len(starts) == 1 else 1] += 1
        repeats = [g for g in self._gone if any(root in graph.nodes for root in g.roots)]
        held = {id(p) for p in _held(self._optimizers())}
        self.teachers.before_backward(
            graph.nodes, graph.leaves, lambda targets: _graph(starts, targets).leaves, held
        )
        self._note_plain(graph, held)
        trained = [leaf for key, leaf in graph.leaves.items() if key in held]
        left = any(map(_has_gradient, trained))
        self._piled, self._again = self._piled + (left and self._again), False
        for gone in self._gone:
            gone.again = gone.again and left
            gone.plain = gone.plain and any(map(_has_gradient, gone.leaves))
        twice = any(_has_gradient(leaf) for gone in repeats for leaf in gone.leaves)
        plain = self._lacks_scale(graph, starts)
        self._gone.append(_Gone(starts, trained, again=twice, plain=plain))
        at_input = bool(held) and self._note_unheld(graph, held)
        return Reached(at_input=at_input, covers=bool(repeats), plain=plain)

    def came_out(self, model: nn.Module, outputs: Iterable[Tensor]) -> None:
        """A model returned these. Of a library's models some outputs are left alone on purpose."""
        calls = self._made.get(type(model), 0)
        starts = [tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None]
        if type(model).__module__ == "__main__" and calls < OFTEN and starts:
            self._made[type(model)] = calls + 1
            self._came_out.update(_graph(starts).leaves)

    def asked_for(self, inputs: Iterable[object], *, again: bool) -> None:
        """Of these the program wants to know the gradient itself. ``again``: to differentiate it."""
        if not again:
            self.constants.cut()
        for tensor in inputs:
            if isinstance(tensor, Tensor):
                self._known(tensor).asked = True

    def at_step(self, optimizer: Optimizer) -> None:
        """An optimizer is about to consume what lies in ``.grad``."""
        held = {id(p) for p in _held([optimizer])}
        ready = [g for g in self._gone if any(id(p) in held for p in g.leaves)]
        self._twice += any(g.again and any(map(_has_gradient, g.leaves)) for g in ready)
        if self._scalers.stepping:
            self._unscaled += any(g.plain and any(map(_has_gradient, g.leaves)) for g in ready)
        self._gone = [g for g in self._gone if g not in ready]
        self._stepped = True
        for leaf in self._leaves.values():
            leaf.held = leaf.held or id(leaf.found()) in held
        for parameter in _held([optimizer]):
            self._steps[id(parameter)] = self._steps.get(id(parameter), 0) + 1
            if parameter.grad is not None or not parameter.requires_grad:
                self._fed.add(id(parameter))
        self._note_wiped(held)

    def at_closure(self, before: int) -> None:
        """An optimizer calls its closure, which it did ``before`` in this step."""
        self._again, self._evaluates = before > 0, True

    def found(self, *, lent: bool) -> dict[str, object]:
        """What the end of the record says. ``lent``: whether it was lent an optimizer, which holds what
        we gave it.
        """
        untrained = () if lent else (*self._unheld(), *self._cut_off())
        twice, often = next(iter(self._divisors.most_common(1)), (1, 0))
        return {
            "unheld": untrained,
            "counted_twice": self._twice,
            "piled_up": self._piled,
            "unscaled": self._unscaled,
            "divided_twice": twice if 2 * often > self._divisors.total() else 1,
            "constant_terms": self.constants.backwards,
            "constant_values": tuple(self.constants.values),
        }

    def _lacks_scale(self, graph: _Graph, starts: list[GraphNode]) -> bool:
        """Whether a scaler's factor, which it has for other losses, is nowhere in this one."""
        scale = self._scalers.loss_scale()
        known = self._scalers.scaled
        return (
            graph.whole
            and scale not in (None, 1.0)
            and not any(node in graph.nodes for node in known)
            and not any(factor_of(node, "Mul") == scale for start in starts for node in sums(start))
        )

    def _unheld(self) -> tuple[UnheldParameter, ...]:
        """Parameters that got gradients again and again, are in no optimizer, and never changed."""
        told = (
            x
            for x in self._leaves.values()
            if self._stepped and not (x.held or x.changed or x.asked)
        )
        return tuple(
            UnheldParameter(name=x.name, why=x.why, backwards=x.seen) for x in told if x.why
        )

    def _cut_off(self) -> tuple[UnheldParameter, ...]:
        """Parameters of an optimizer that never had a gradient: where checkpoints stop it, a model
        returned what they made and no loss goes back to it, or nothing tells why.
        """
        fed = self._fed | (self._reached.keys() if self._evaluates else set())
        hungry = [key for key, n in self._steps.items() if n >= OFTEN and key not in fed]
        stopped = len(self._cut) >= OFTEN
        if not hungry:
            return ()
        wiped = [key for key in hungry if key in self._wiped]
        if wiped:
            return tuple(
                UnheldParameter(name=self._wiped[k], why="wiped", backwards=self._reached[k])
                for k in wiped
            )
        owners = _Owners()
        came_out = self._came_out - self._reached.keys()

        def why(key: int) -> UnheldWhy:
            return "checkpointed" if stopped else "cut" if key in came_out else "idle"

        return tuple(
            UnheldParameter(name=owners.names[key], why=why(key), backwards=self._steps[key])
            for key in hungry
            if key in owners.names and (stopped or key not in owners.spared)
        )

    def _note_wiped(self, held: set[int]) -> None:
        """What backwards went to again and again, and what has had no gradient in as many steps: named
        while its module is there.
        """
        if self._evaluates:
            return
        found = [
            key
            for key in held - self._fed - self._wiped.keys()
            if self._steps[key] >= OFTEN and self._reached[key] >= OFTEN
        ]
        if found:
            names = _Owners().names
            self._wiped.update((key, names.get(key, "a parameter")) for key in found)

    def _note_plain(self, graph: _Graph, held: set[int]) -> None:
        """Tensors of no module are trained where an optimizer holds them, or nothing else is there."""
        plain = [t for t in graph.leaves.values() if not isinstance(t, nn.Parameter)]
        alone = len(plain) == len(graph.leaves)
        self._tape.register_plain(
            t for t in plain if (alone or id(t) in held) and not self._known_as_asked(t)
        )

    def _known_as_asked(self, tensor: Tensor) -> bool:
        """Whether the program wants to know its gradient itself."""
        known = self._leaves.get(id(tensor))
        return known is not None and known.found() is tensor and known.asked

    def _note_unheld(self, graph: _Graph, held: set[int]) -> bool:
        """Whether an input is among what nobody holds."""
        found = [self._known(t) for key, t in graph.leaves.items() if key not in held]
        for leaf in found:
            tensor = leaf.found()
            leaf.seen += 1
            if tensor is not None and leaf.value is not None:
                leaf.changed = leaf.changed or not bool((tensor.detach() == leaf.value).all())
        if any(leaf.seen >= OFTEN and not leaf.examined for leaf in found):
            self._examine([leaf for leaf in found if leaf.seen >= OFTEN], graph, held)
        self._frozen.update(self._tape.frozen())
        return any(not (x.asked or isinstance(x.found(), nn.Parameter)) for x in found)

    def _known(self, tensor: Tensor) -> _Leaf:
        known = self._leaves.get(id(tensor))
        if known is not None and known.found() is tensor:
            return known
        value = tensor.detach().clone() if tensor.numel() <= LARGE else None
        leaf = _Leaf(TensorWeakRef(tensor), value, f"a tensor of {tuple(tensor.shape)}")
        self._leaves[id(tensor)] = leaf
        return leaf

    def _examine(self, leaves: list[_Leaf], graph: _Graph, held: set[int]) -> None:
        """Why nobody holds them, as far as that cannot be meant: what is loaded, bought in, or put
        into evaluation may be left alone on purpose.
        """
        owners = _Owners()
        alone, beside = _applied(graph, held) if graph.whole else (set(), set())
        replaced = not held & graph.leaves.keys()
        idle = {key for key, n in self._steps.items() if n > 1 and key not in self._fed}
        exchanged = any(key in idle and key not in owners.names for key in held)
        for leaf in leaves:
            tensor = leaf.found()
            if not leaf.examined and tensor is not None:
                leaf.examined = True
                leaf.name = owners.names.get(id(tensor), leaf.name)
                applied = alone if isinstance(tensor, nn.Parameter) else beside
                leaf.why = self._why(tensor, owners, applied=id(tensor) in applied)
                if leaf.why is None and replaced and id(tensor) not in owners.spared:
                    leaf.why = "replaced" if id(tensor) in owners.names else None
                if leaf.why is None and exchanged and id(tensor) in owners.names:
                    leaf.why = "exchanged"

    def _why(self, tensor: Tensor, owners: "_Owners", *, applied: bool) -> UnheldWhy | None:
        known = isinstance(tensor, nn.Parameter)
        if isinstance(tensor, nn.Parameter) and self._tape.name(tensor) in self._frozen:
            return "thawed"
        if id(tensor) in owners.spared:
            return None
        if id(tensor) in owners.hidden and (known or applied):
            return "hidden"
        return "forgotten" if known and applied else None


class _Owners:
    """Which modules hold which parameters, as they are now."""

    def __init__(self) -> None:
        modules = [m for m in gc.get_objects() if issubclass(type(m), nn.Module)]
        made_here = ("torch", "candidate", "__main__")
        self.names: dict[int, str] = {}
        """The longest name that some module has for a parameter."""
        self.spared: set[int] = set()
        """What may be left alone on purpose: loaded, of a library, in evaluation, copied by torch."""
        self.hidden: set[int] = set()
        """What a module keeps where ``parameters()`` does not find it."""
        for module in modules:
            foreign = type(module).__module__.partition(".")[0] not in made_here
            for name, parameter in module.named_parameters():
                if len(name) > len(self.names.get(id(parameter), "")):
                    self.names[id(parameter)] = name
                if foreign or prototypes.is_one(module) or id(parameter) in LOADED:
                    self.spared.add(id(parameter))
            if not module.training:
                self.spared |= {id(p) for p in nn.Module.parameters(module, recurse=False)}
            self._find_hidden(module)

    def _find_hidden(self, module: nn.Module) -> None:
        registered = {id(p) for p in nn.Module.parameters(module)}
        for name, value in vars(module).items():
            if name in ("_parameters", "_modules", "_buffers"):
                continue
            for tensor in _trainable(value):
                if id(tensor) not in registered:
                    self.hidden.add(id(tensor))
                    self.names.setdefault(id(tensor), name)
                    if self.names[id(tensor)] != name:
                        self.names[id(tensor)] = f"{name}[...].{self.names[id(tensor)]}"


def times_mean(roots: Sequence[Tensor]) -> float | None:
    """By what a mean of several numbers was multiplied to make one loss; ``None`` for another loss."""
    start = roots[0].grad_fn if len(roots) == 1 else None
    way = _way_down(start) if start is not None else None
    if way is None or type(way[1]).__name__ != "MeanBackward0":
        return None
    times = 1.0
    for passed in way[0]:
        by, factor = factor_of(passed, "Div"), factor_of(passed, "Mul")
        if by:
            times /= by
        elif factor is not None:
            times *= factor
        elif type(passed).__name__ != "NegBackward0":
            return None
    return times if getattr(way[1], "_saved_self_sym_numel", 0) > 1 else None


def _cut_checkpoints() -> list[None]:
    """Grows with each reentrant checkpoint none of whose inputs asks for a gradient: what it computes
    gets none.
    """
    found: list[None] = []
    check = checkpoint.check_backward_validity

    def checked(inputs: Iterable[Any]) -> None:
        given = tuple(inputs)
        if not any(isinstance(x, Tensor) and x.requires_grad for x in given):
            found.append(None)
        check(given)

    setattr(checkpoint, check.__name__, checked)
    return found


LOADED: set[int] = set()
"""Parameters into which a state was loaded."""


def _trainable(value: object) -> Iterator[Tensor]:
    """What asks for a gradient in an attribute, or in a list or mapping of such."""
    if isinstance(value, nn.Module):
        yield from nn.Module.parameters(value)
    elif isinstance(value, Tensor):
        if value.is_leaf and value.requires_grad:
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _trainable(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _trainable(item)


def _held(optimizers: Iterable[Optimizer]) -> Iterator[Tensor]:
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            yield from group["params"]


def _has_gradient(tensor: Tensor) -> bool:
    return tensor.grad is not None and bool(dense(tensor.grad).any())


def _graph(starts: list[GraphNode], without: Iterable[GraphNode] = ()) -> _Graph:
    """``without``: nodes that are gone by, with what only they lead to."""
    graph, waiting = _Graph(), [(node, False) for node in starts]
    opened: set[GraphNode] = {*without}
    while waiting:
        node, closes = waiting.pop()
        if closes:
            graph.nodes[node] = None
        elif node not in opened:
            if len(opened) > MOST_NODES:
                graph.whole = False
                break
            opened.add(node)
            waiting.append((node, True))
            leaf = getattr(node, "variable", None)
            if isinstance(leaf, Tensor):
                graph.leaves[id(leaf)] = leaf
            waiting += [(child, False) for child, _ in node.next_functions if child is not None]
    return graph


def _way_down(node: GraphNode) -> tuple[list[GraphNode], GraphNode] | None:
    """Multiplications and divisions by one number that made a loss, and what they were made of;
    ``None`` where two things that carry gradient were multiplied.
    """
    passed: list[GraphNode] = []
    while type(node).__name__ in ("DivBackward0", "MulBackward0", "NegBackward0"):
        below = [child for child, _ in node.next_functions if child is not None]
        if len(below) != 1:
            return None
        passed.append(node)
        node = below[0]
    return passed, node


def _divided_twice(node: GraphNode) -> int:
    """The number by which a loss is divided twice on its way out, else 1. A sum of as many terms is
    divided once for itself.
    """
    way = _way_down(node)
    if way is None:
        return 1
    divisors, node = [factor_of(passed, "Div") or 1.0 for passed in way[0]], way[1]
    terms = 1
    while type(node).__name__ == "AddBackward0" and node.next_functions[0][0] is not None:
        terms, node = terms + 1, node.next_functions[0][0]
    same = {n for n in divisors if divisors.count(n) > 1 and n.is_integer() and n > 1.0}
    return int(same.pop()) if len(same) == 1 and terms not in same else 1


def _applied(graph: _Graph, held: set[int]) -> tuple[set[int], set[int]]:
    """Leaves of no optimizer that are applied to what is trained: each by itself, as weights that stand
    behind those of an optimizer are, and with others. What stands before them, as a backbone before
    its probe, comes with others.
    """
    trained: set[GraphNode] = set()
    below: dict[GraphNode, frozenset[int]] = {}
    alone: set[int] = set()
    together: set[int] = set()
    for node in graph.nodes:
        leaf = getattr(node, "variable", None)
        children = [child for child, _ in node.next_functions if child is not None]
        if isinstance(leaf, Tensor):
            trained |= {node} if id(leaf) in held else set()
            below[node] = frozenset() if id(leaf) in held else frozenset({id(leaf)})
            continue
        if any(child in trained for child in children):
            trained.add(node)
            for child in children:
                found = below.get(child, frozenset()) if child not in trained else frozenset()
                together |= found
                alone |= found if len(found) == 1 else set()
        below[node] = frozenset().union(*(below.get(child, frozenset()) for child in children))
    return alone, together

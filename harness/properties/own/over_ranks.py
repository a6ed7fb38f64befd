"""Gradients that are summed over the ranks where their mean was due, or divided by the ranks twice.

A half may be the program's own weight on its loss: whether it is one over the number of ranks, an
execution on another number of them tells.
"""

import ast
import re

from harness.domain.own import OwnSettings
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.accumulation.divisors import SAME, WindowTotal, total
from harness.properties.evidence.consumption import account
from harness.properties.evidence.figures import close, count, middle, number, show, spread
from harness.properties.own.reading import own_settings
from harness.properties.ranks.ranks_agree import ID
from harness.syntax import tree_of, walk

HALVED = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "")
"""Losses that people multiply by a half whatever the number of ranks; one that has no name may be of
them.
"""

NUMBER_OF_RANKS = re.compile(
    r"[\w.]*(world|n_?(procs|ranks|gpus|workers|processes|replicas)\b|num_(procs|ranks|gpus|workers|"
    r"processes|replicas)\b|get_world_size\(\))[\w.]*(\(\))?",
    re.IGNORECASE,
)
"""What people call the number of ranks."""

LOSS = re.compile("loss|criterion|entropy|nll", re.IGNORECASE)


def may_follow_the_ranks(trace: Trace, settings: OwnSettings) -> bool:
    """Whether two ranks consume half of the mean over both, or twice that; on rows that are lent, which
    are as many on any number of ranks, whether they consume anything but the mean.
    """
    size = _size(trace, settings) if settings.ranks == 2 else None
    if size is None or close(size, 1.0, SAME):
        return False
    return _is_lent(trace) or close(size, 0.5, SAME) or close(size, 2.0, SAME)


def mean_over_ranks(
    verdict: Verdict, trace: Trace, settings: OwnSettings, wider: ProbeTrace | None
) -> Verdict:
    """The verdict on ranks that agree, or the fail for what they agree on: a part, or a multiple, of the
    mean of their losses' gradients. ``wider``: what the program did on one rank more.
    """
    if verdict.property != ID or verdict.outcome == "fail" or settings.ranks < 2:
        return verdict
    more = None if wider is None else Trace(probes=(wider,))
    few = _size(trace, settings)
    many = None if more is None else _size(more, own_settings(more))
    if wider is None or few is None or many is None:
        return _by_its_size(verdict, trace, settings)
    if _divides_its_loss(trace) and not _is_lent(trace):
        return _by_its_size(verdict, trace, settings)
    same_rates = _rates(trace.probes[0]) == _rates(wider)
    return _by_both(verdict, trace, wider.world_size, few, many) if same_rates else verdict


def _by_both(verdict: Verdict, trace: Trace, ranks: int, few: float, many: float) -> Verdict:
    """What changes with the number of ranks, at the same learning rates."""
    alone = 1.0 if not _is_lent(trace) else few / 2.0 if many > few else few * 2.0
    summed = close(few, 2.0 * alone, SAME) and close(many, ranks * alone, SAME)
    twice = close(few, alone / 2.0, SAME) and close(many, alone / ranks, SAME)
    if not (summed or twice):
        return verdict
    why = (
        "they are summed over the ranks and never divided: divide by the number of ranks"
        if summed
        else "the loss is divided by the number of ranks, or by a count over all of them, and their "
        "mean is taken all the same: divide it once"
    )
    return failed(
        ID,
        f"On 2 ranks the optimizer consumed {show(few)} times the mean of the ranks' gradients, and on "
        f"{ranks} ranks {show(many)} times: {why}.",
        number("times the mean over 2 ranks", few),
        number(f"times the mean over {ranks} ranks", many),
    )


def _is_lent(trace: Trace) -> bool:
    """Whether all rows are lent."""
    return all(m.samples for u in trace.probes[0].updates for m in u.window)


def _rates(probe: ProbeTrace) -> tuple[float, ...]:
    return probe.updates[0].learning_rates if probe.updates else ()


def _size(trace: Trace, settings: OwnSettings) -> float | None:
    """How many times the mean of its micro-batches over all ranks each window consumes, if all do."""
    seen = account(trace, settings.expectations)
    if seen is None:
        return None
    own = seen.objective == "as-computed"
    sizes = [t.size for t in _totals(trace, settings)]
    whole = [r for r in seen.readings if r.aligned and r.state != "clipped"]
    found = sizes if own else [r.ratio for r in whole]
    return middle(found) if found and spread(found) <= SAME else None


def _by_its_size(verdict: Verdict, trace: Trace, settings: OwnSettings) -> Verdict:
    """What is the number of ranks, or one over it, and can hardly be anything else."""
    totals = _totals(trace, settings)
    sizes = [t.size for t in totals]
    if not totals or spread(sizes) > SAME:
        return verdict
    factor, first = middle(sizes), totals[0].reading
    ranks, of = settings.ranks, first.update.window_size
    whole = close(first.ratio, ranks, SAME)  # else the program's own weight on its loss
    summed = close(factor, ranks, SAME) and whole and ranks != of
    own_weight = _halved(totals) and not _divides_its_loss(trace)
    twice = close(factor, 1.0 / ranks, SAME) and ranks != of and not own_weight
    if not (summed or twice):
        return verdict
    why = (
        f"they were summed over {ranks} ranks and never divided: divide by the number of ranks"
        if summed
        else f"the loss was divided by the {ranks} ranks, and their mean was taken all the same"
    )
    return failed(
        ID,
        f"In {first.where} the optimizer consumed {show(factor)} times the mean of the ranks' "
        f"gradients, and so in {count(len(totals), 'window')}: {why}.",
        number("times the mean over ranks", factor, first.where),
        number("ranks", ranks, first.where),
    )


def _totals(trace: Trace, settings: OwnSettings) -> list[WindowTotal]:
    """What each window adds up to, where a program trains on a loss of its own."""
    seen = account(trace, settings.expectations)
    if seen is None or seen.objective != "as-computed":
        return []
    divides = _divides_its_loss(trace)
    return [t for r in seen.readings if (t := total(r, of_own_means=divides)) is not None]


def _halved(totals: list[WindowTotal]) -> bool:
    return any(b.mean_of in HALVED for t in totals for b in t.reading.window.rank_trace.backwards)


def _divides_its_loss(trace: Trace) -> bool:
    """Whether the text divides by the number of ranks what goes backward, or what a function returns
    that sends nothing: a loss that is averaged for a log is divided too.
    """
    tree = tree_of(trace.probes[0].program.source)
    calls = [n for n in walk(tree) if isinstance(n, ast.Call) and _goes_back(n)]
    trained = {n.id for call in calls for n in walk(call) if isinstance(n, ast.Name)}
    if any(map(_divides, calls)):
        return True
    for node in walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name in trained and _divides(value):
                return True
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Div(), value=ranks) if (
                name in trained and _counts_ranks(ranks)
            ):
                return True
            case ast.FunctionDef() if "reduce" not in ast.unparse(node):
                if any(isinstance(n, ast.Return) and _divides(n) for n in walk(node)):
                    return True
    return False


def _goes_back(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "backward"


def _divides(tree: ast.AST) -> bool:
    """Whether a loss is divided by the number of ranks in it."""
    quotients = (n for n in walk(tree) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div))
    return any(_counts_ranks(n.right) and LOSS.search(ast.unparse(n.left)) for n in quotients)


def _counts_ranks(node: ast.expr) -> bool:
    return NUMBER_OF_RANKS.fullmatch(ast.unparse(node)) is not None

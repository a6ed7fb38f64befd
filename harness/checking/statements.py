"""Statements in an example's comments that its numbers can refute or bear out. Pure.

Few forms are read, and each is answered by one figure. What is not read is not judged.
"""

import re
from collections.abc import Iterator

from harness.checking.facts import DriverReport, ModuleReport
from harness.checking.piece_evidence import EXPLODES
from harness.checking.running import BlockRun
from harness.checking.trace_reading import true_norms
from harness.domain.check import Observation
from harness.domain.skill import Part
from harness.domain.verdict import Number

_IDLE_CLIP = re.compile(
    r"clip\w*\s+(?:does|do|did)\s+nothing|clip\w*\s+(?:doesn'?t|does not)\s+work"
    r"|effective clip\w* threshold is \d+",
    re.IGNORECASE,
)
_SHRUNK = re.compile(r"gradients?\s+(?:\w+\s+){0,3}too small", re.IGNORECASE)
_NO_EXPLOSION = re.compile(r"(?:prevents?|keeps?) gradients from exploding", re.IGNORECASE)
_RATE_PER_UPDATE = re.compile(
    r"^(?:stepped|steps?|called|moves|updated) (?:after |on |at )?(?:every|each|once per|per) "
    r"(?:optimizer |training )?(?:step|update|batch)\b",
    re.IGNORECASE,
)


def statements_about(part: Part, seen: BlockRun) -> tuple[Observation, ...]:
    """Every statement that was read, with what was seen."""
    found = [
        observation
        for comment in part.comments
        for test in (_idle_clip, _shrunk, _moves)
        for observation in test(comment, seen)
    ]
    return tuple({one.sentence: one for one in found}.values())


def statements_about_modules(part: Part, report: DriverReport) -> tuple[Observation, ...]:
    """Refutes a comment that says that a module keeps gradients from exploding, where fifty in a row
    explode under He initialisation.
    """
    said = next((c for c in part.comments if _NO_EXPLOSION.search(c)), None)
    if said is None or not isinstance(report, ModuleReport):
        return ()
    exploding = [m for m in report.facts.measured if (m.he_gradient or 0.0) > EXPLODES]
    return tuple(
        Observation(
            statement=said,
            holds=False,
            sentence=f"Fifty `{m.name}` under He initialisation have a gradient of norm "
            f"{m.he_gradient or 0.0:.2g}.",
            numbers=(Number(name="gradient norm of fifty under He", value=m.he_gradient or 0.0),),
        )
        for m in exploding[:1]
    )


def _idle_clip(comment: str, seen: BlockRun) -> Iterator[Observation]:
    """Tests "clipping does nothing" on the first loud update: it holds where over 0.9 of the true norm
    was consumed.
    """
    verdict = seen.verdict("unscaled-norm")
    if not _IDLE_CLIP.search(comment) or verdict is None or verdict.outcome != "fail":
        return
    for update, true in true_norms(seen, "loud"):
        yield Observation(
            statement=comment,
            holds=update.consumed_norm > 0.9 * true,
            sentence="Clipping acts in every update, and far too much: the optimizer consumes norm "
            f"{update.consumed_norm:.3g} where the true gradient has {true:.3g}.",
            numbers=(
                Number(name="norm consumed", value=update.consumed_norm),
                Number(name="true norm", value=true),
            ),
        )
        return


def _shrunk(comment: str, seen: BlockRun) -> Iterator[Observation]:
    """Refutes "gradients become too small" where torch refused a call of the scaler, so that there is
    no gradient.
    """
    raised = [c.raised for p in seen.trace.probes for r in p.ranks for c in r.scaler if c.raised]
    if _SHRUNK.search(comment) and raised:
        yield Observation(
            statement=comment,
            holds=False,
            sentence=f"No gradient becomes small: torch refuses the call ({raised[0]})",
        )


def _moves(comment: str, seen: BlockRun) -> Iterator[Observation]:
    """Tests a claim that a schedule moves with every update, by how many updates it moved after."""
    verdict = seen.verdict("scheduler-per-update")
    figures = {n.name: n.value for n in verdict.numbers} if verdict is not None else {}
    moved, first = figures.get("windows in which it moved"), seen.trace.probes[0]
    count = len([u for u in first.updates if not u.short])
    if _RATE_PER_UPDATE.match(comment) and moved is not None and count:
        yield Observation(
            statement=comment,
            holds=2 * moved > count,
            sentence=f"The schedule moved after {moved:.0f} of {count} updates.",
            numbers=(Number(name="updates after which it moved", value=moved),),
        )

"""The grade of a program without a scenario."""

from collections.abc import Iterator, Sequence

from harness.domain.event import MADE_TO_FIT, STEPPED_FOR_IT, TRAINED_FOR_IT
from harness.domain.grade import Grade, write_grade
from harness.domain.own import OWN_SCENARIO, OwnSettings
from harness.domain.scenario import PropertyRule
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed
from harness.properties import judge_by
from harness.properties.accumulation import no_batch_lost
from harness.properties.diagnosis import training_unchanged
from harness.properties.evidence.figures import number, show
from harness.properties.learning.every_parameter_learns import ID as LEARNS
from harness.properties.own.clipping import copied_clip, divided_after, where_clipped
from harness.properties.own.configured import left_to_a_trainer
from harness.properties.own.exchanged import BUILT_WHEN, beside_a_lent_optimizer
from harness.properties.own.hand_clips import INACTIVE, bounds_another, by_design
from harness.properties.own.idle import where_reached
from harness.properties.own.lacking import lacking
from harness.properties.own.leaked_rest import leaked_rest
from harness.properties.own.lent_losses import divided_above
from harness.properties.own.named_norms import misnamed_norm
from harness.properties.own.over_ranks import mean_over_ranks
from harness.properties.own.reading import own_settings
from harness.properties.own.rules import CLIPPING, is_ruined, rules
from harness.properties.own.schedules import ID as SCHEDULE
from harness.properties.own.schedules import MADE_FOR_THEM, counts_micro_batches, where_told
from harness.properties.own.spoilt import carried_over, skipped_without_update, spoilt_for_good
from harness.properties.own.weighed_rest import part_of_its_mean
from harness.properties.own.weighed_targets import weighs_targets

UNSHOWN_TRAINING = (
    "It restores states for training that it does not show; show the function that trains."
)

NO_STEP = "It makes no optimizer step itself; show the loop that steps."

IN_ORDER = frozenset({"gradients-start-fresh", "clip-before-step"})
"""Properties that fail by the order of calls, whatever the numbers are."""

OF_A_SCALE = frozenset({"unscaled-norm", "scaler-protocol"})
"""Those that fail by the mark of a loss scale, which no number of what is lent has."""

GIVEN = "loss-gets-what-it-takes"
"""The property of what a loss is handed."""

UNFIT = "What was lent had to be stretched or cut; define what the program trains on."


def own_grade(
    trace: Trace,
    agent: str,
    seconds: float = 0.0,
    allowed: Sequence[PropertyRule] = (),
    wider: ProbeTrace | None = None,
) -> Grade:
    """Judge a trace by the settings that it shows. What is inconclusive gets one reason.

    ``allowed``: what its author means to fail. ``wider``: the same program on one rank more.
    """
    settings = own_settings(trace)
    meant = (*by_design(trace, settings), *left_to_a_trainer(trace))
    allowed = (*_without_schedule(allowed, trace), *meant)
    chosen = rules(settings, allowed, ruined=is_ruined(trace))
    verdicts = where_told(_judged(trace, chosen, settings), trace)
    verdicts = tuple(carried_over(frozen_on_purpose(v, trace), trace) for v in verdicts)
    verdicts = tuple(spoilt_for_good(v, trace) for v in verdicts)
    verdicts = tuple(mean_over_ranks(v, trace, settings, wider) for v in verdicts)
    verdicts = tuple(divided_above(skipped_without_update(v, trace), trace) for v in verdicts)
    found = _beside_the_rules(trace, settings, allowed)
    verdicts = beside_a_lent_optimizer((*verdicts, *found), trace)
    if is_about_restoring(trace):
        verdicts = tuple(map(_not_shown, verdicts))
    if lent_its_step(trace):
        shown = _shows_training(settings, trace)
        verdicts = tuple(map(_not_accused if shown else _nothing_shown, verdicts))
    verdicts = where_fitted(verdicts, trace)
    verdicts = as_the_message_asks(verdicts, trace, settings, allowed)
    verdicts = where_reached(verdicts, trace, allowed)
    grade = write_grade(OWN_SCENARIO, agent, verdicts, trace=trace, seconds=seconds)
    if grade.code != "inconclusive" or grade.reason is not None:
        return grade
    reason = NO_STEP if lent_its_step(trace) else lacking(trace, verdicts)
    if any(v.sentence == BUILT_WHEN for v in verdicts):
        reason = BUILT_WHEN
    return grade.model_copy(update={"reason": reason})


def _beside_the_rules(
    trace: Trace, settings: OwnSettings, allowed: Sequence[PropertyRule]
) -> Iterator[Verdict]:
    """Fails that no setting asks for."""
    yield from copied_clip(trace, allowed)
    yield from divided_after(trace, allowed)
    yield from bounds_another(trace, settings, allowed)
    yield from misnamed_norm(trace, allowed)


def _without_schedule(allowed: Sequence[PropertyRule], trace: Trace) -> Sequence[PropertyRule]:
    """What is allowed, and a schedule that moves with each micro-batch where it is made for them."""
    if not counts_micro_batches(trace):
        return allowed
    made = PropertyRule(id=SCHEDULE, level="allowed", reason=MADE_FOR_THEM)
    return (*(rule for rule in allowed if rule.id != SCHEDULE), made)


def _judged(
    trace: Trace, chosen: Sequence[PropertyRule], settings: OwnSettings
) -> tuple[Verdict, ...]:
    """The verdicts, those on clips on the updates of the optimizers that it clips for."""
    found = judge_by(trace, chosen, settings.expectations)
    if (part := where_clipped(trace)) is trace:
        return found
    of_part = {v.property: v for v in judge_by(part, chosen, settings.expectations)}
    return tuple(of_part.get(v.property, v) if v.property in CLIPPING else v for v in found)


def frozen_on_purpose(verdict: Verdict, trace: Trace) -> Verdict:
    """Without a failure for parameters that asked for no gradient in any forward: the program froze
    them.
    """
    frozen = [set(u.frozen) for p in trace.probes for u in p.updates]
    if any(p.program.flagged_modules for p in trace.probes):
        return verdict
    if verdict.property != LEARNS or verdict.outcome != "fail" or not frozen:
        return verdict
    moved = [p.learning.moved for p in trace.probes if p.learning is not None]
    still = {name for one in moved for name, way in one.items() if way == 0.0}
    if not still or not still <= set.intersection(*frozen):
        return verdict
    said = f"{len(still)} parameters require no gradient in any forward: the program froze them."
    return verdict.model_copy(update={"outcome": "inconclusive", "sentence": said})


def as_the_message_asks(
    verdicts: tuple[Verdict, ...],
    trace: Trace,
    settings: OwnSettings,
    allowed: Sequence[PropertyRule],
) -> tuple[Verdict, ...]:
    """With the fail for what the message asks otherwise: targets that weigh differently, a rest that
    does or is lost, a clip where it wants none, or another one; or for a rest that no message need
    speak of. What its author means to fail stays allowed.
    """
    asked = (
        leaked_rest(trace),
        weighs_targets(trace),
        part_of_its_mean(trace),
        _lost(trace, settings),
        _clipped(trace, settings),
        _by_value(trace, settings),
    )
    meant = {rule.id for rule in allowed}
    refused = next((v for v in asked if v is not None and v.property not in meant), None)
    if refused is None:
        return verdicts
    return (*(v for v in verdicts if v.property != refused.property), refused)


def _lost(trace: Trace, settings: OwnSettings) -> Verdict | None:
    wanted = trace.wishes.rest_used or trace.wishes.rest_is_mean
    if not (wanted and settings.accumulates):
        return None
    found = no_batch_lost.judge(trace, settings.expectations)
    return found if found.outcome == "fail" else None


def _clipped(trace: Trace, settings: OwnSettings) -> Verdict | None:
    if not trace.wishes.no_clip or settings.clip is None:
        return None
    return failed(
        training_unchanged.ID,
        "The message asks for no clipping, and gradients are clipped at "
        f"{show(settings.clip.lowest)}: a norm is measured with a limit of infinity, or with "
        "torch.nn.utils.get_total_norm.",
        number("threshold", settings.clip.lowest),
    )


def _by_value(trace: Trace, settings: OwnSettings) -> Verdict | None:
    if not trace.wishes.whole_norm or settings.clip is None or settings.clip.kind != "value":
        return None
    return failed(
        CLIPPING[-1],
        "The message asks for the norm of the whole gradient, and each entry of it is clipped by "
        f"itself at {show(settings.clip.highest)}, which turns it as well: use clip_grad_norm_.",
        number("largest entry that is left", settings.clip.highest),
    )


def lent_its_step(trace: Trace) -> bool:
    """Whether the program makes no update itself, so that the harness stepped for it."""
    return any(STEPPED_FOR_IT in note for p in trace.probes for note in p.program.bound)


def is_about_restoring(trace: Trace) -> bool:
    """Whether it restores states and leaves the training to its reader: what is restored rightly, only
    the training that goes on would show.
    """
    lent = any(n.endswith(TRAINED_FOR_IT) for p in trace.probes for n in p.program.bound)
    return lent and any("load_state_dict" in (p.program.as_run or "") for p in trace.probes)


def _not_shown(verdict: Verdict) -> Verdict:
    """What passes in training that is lent says nothing of what was restored."""
    if verdict.outcome != "pass":
        return verdict
    return verdict.model_copy(update={"outcome": "inconclusive", "sentence": UNSHOWN_TRAINING})


def where_fitted(verdicts: tuple[Verdict, ...], trace: Trace) -> tuple[Verdict, ...]:
    """Of a program that what is lent had to be made to fit: it fails by the order of its calls alone."""
    if not any(MADE_TO_FIT in p.program.bound for p in trace.probes):
        return verdicts
    sure = IN_ORDER if _lent_one_optimizer(trace) else frozenset[str]()
    sure |= OF_A_SCALE if _steps_one_optimizer(trace) else frozenset[str]()
    judged = (v for v in verdicts if v.property != GIVEN)
    return tuple(v if v.property in sure else _unfit(v) for v in judged)


def _lent_one_optimizer(trace: Trace) -> bool:
    """Whether nothing was guessed of which optimizer is for which network."""
    notes = {note for p in trace.probes for note in p.program.bound}
    return sum(note.endswith(": optimizer") for note in notes) <= 1


def _steps_one_optimizer(trace: Trace) -> bool:
    stepped = {u.optimizers for p in trace.probes for u in p.updates}
    if not stepped:
        return _lent_one_optimizer(trace)
    return len(stepped) == 1 and all(len(o) <= 1 for o in stepped)


def _unfit(verdict: Verdict) -> Verdict:
    """What fails on numbers that were made to fit may be no fault of the program's."""
    if verdict.outcome != "fail":
        return verdict
    return verdict.model_copy(update={"outcome": "inconclusive", "sentence": UNFIT})


def _shows_training(settings: OwnSettings, trace: Trace) -> bool:
    """Whether the updates that the harness made for it show more than what it lent: a clip, a window, a
    scale, ranks, a model of its own.
    """
    notes = {note for p in trace.probes for note in p.program.bound}
    own = not any(note.endswith(": model") for note in notes)
    managed = settings.clip is not None or settings.accumulates or settings.scaler
    return own or managed or settings.schedule or settings.ranks > 1


def _nothing_shown(verdict: Verdict) -> Verdict:
    return verdict.model_copy(update={"outcome": "inconclusive", "sentence": NO_STEP})


def _not_accused(verdict: Verdict) -> Verdict:
    """What fails in updates that are not its own may be no fault of the program's; what its clip makes
    of a small gradient is.
    """
    if verdict.outcome != "fail" or verdict.property == INACTIVE:
        return verdict
    return verdict.model_copy(update={"outcome": "inconclusive", "sentence": NO_STEP})

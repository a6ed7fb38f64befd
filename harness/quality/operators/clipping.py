"""Clips that are missing, misplaced, repeated, of the wrong size or of the wrong thing."""

from collections.abc import Callable, Iterator

import libcst as cst

from harness.quality.operator import Derive, Operator
from harness.quality.program import (
    Changes,
    ParsedProgram,
    ProgramChange,
    after,
    before,
    code,
    instead,
    threshold_of,
)

NEVER = 'float("inf")'
"""The text of a threshold at which a clip changes nothing but still returns the norm."""


def _parameters(clip: cst.Call) -> str:
    named = [a for a in clip.args if a.keyword and a.keyword.value == "parameters"]
    return code((named or clip.args)[0].value)


def _threshold(clip: cst.Call) -> str:
    found = threshold_of(clip)
    assert found is not None
    return code(found.value)


def _called(clip: cst.Call, parameters: str, threshold: str) -> str:
    return f"{code(clip.func)}({parameters}, {threshold})"


def _with(text: Callable[[cst.Call], str]) -> Derive:
    """An operator that replaces each clip by another expression."""

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for clip in program.clips():
            yield {clip: instead(text(clip))}

    return derive


def _resized(change: str) -> Derive:
    """An operator that changes the threshold of each clip."""
    return _with(lambda clip: _called(clip, _parameters(clip), f"({_threshold(clip)}) {change}"))


def _of(parameters: str) -> Derive:
    """An operator that gives each clip other parameters: ``{}`` stands for those that it has."""
    return _with(lambda clip: _called(clip, parameters.format(_parameters(clip)), _threshold(clip)))


def _moved(
    places: Callable[[ParsedProgram], list[cst.Call]], side: Callable[..., ProgramChange]
) -> Derive:
    """An operator that gives each clip an infinite threshold and calls the original at another place."""

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for clip in program.clips():
            disarmed = instead(_called(clip, _parameters(clip), NEVER))
            copy = _called(clip, _parameters(clip), _threshold(clip))
            for place in places(program):
                if program.together(clip, place):
                    yield {clip: disarmed, program.statement(place): side(copy)}

    return derive


def _each_micro_batch(program: ParsedProgram) -> Iterator[Changes]:
    for clip in program.clips():
        copy = _called(clip, _parameters(clip), _threshold(clip))
        for backward in program.backwards():
            # right before the clip that is there a second one changes nothing
            if program.line(clip) != program.line(backward) + 1:
                yield {program.statement(backward): after(copy)}


def _around(first: str, then: str) -> Derive:
    """An operator that puts statements before and after each clip: ``{p}`` and ``{t}`` stand for its
    parameters and threshold.
    """

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for clip in program.clips():
            given = {"p": _parameters(clip), "t": _threshold(clip)}
            line = program.statement(clip)
            if isinstance(line, cst.SimpleStatementLine):
                yield {line: _both(before(first.format(**given)), after(then.format(**given)))}

    return derive


def _both(first: ProgramChange, then: ProgramChange) -> ProgramChange:
    def change(node: cst.CSTNode) -> cst.FlattenSentinel[cst.BaseStatement]:
        *ahead, _ = first(node).nodes  # type: ignore[union-attr]  # before gives several
        return cst.FlattenSentinel([*ahead, *then(node).nodes])  # type: ignore[union-attr]  # so does after

    return change


def _waiting(clip: cst.Call) -> str:
    norm = (
        f"sum(float(p.grad.norm()) ** 2 for p in {_parameters(clip)} if p.grad is not None) ** 0.5"
    )
    limit = f"({_threshold(clip)}) if {norm} > 10 * ({_threshold(clip)}) else {NEVER}"
    return _called(clip, _parameters(clip), limit)


def _exhausted(program: ParsedProgram) -> Iterator[Changes]:
    for clip in program.clips():
        line = program.statement(clip)
        if isinstance(line, cst.SimpleStatementLine):
            yield {
                clip: instead(_called(clip, "_trainable", _threshold(clip))),
                line: before(
                    f"_trainable = filter(lambda p: p.requires_grad, {_parameters(clip)})",
                    "_count = sum(p.numel() for p in _trainable)",
                ),
            }


def _every_other_time(program: ParsedProgram) -> Iterator[Changes]:
    for clip in program.clips():
        threshold = f"({_threshold(clip)}) if len(_clips) % 2 else {NEVER}"
        yield {
            clip: instead(_called(clip, _parameters(clip), threshold)),
            program.statement(clip): before("_clips.append(None)"),
            program.first: before("_clips = []"),
        }


def _added(program: ParsedProgram) -> Iterator[Changes]:
    for step in program.steps() if not program.clips() else ():
        clip = "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)"
        yield {program.statement(step): before(clip)}


SIZE = ("clip-inactive-when-small", "clip-global-norm", "clip-per-group")

OPERATORS = (
    Operator(
        "clip-dropped",
        "Nothing is clipped; the norm is only read.",
        ("clip-before-step", "clip-global-norm"),
        _with(lambda clip: _called(clip, _parameters(clip), NEVER)),
        also=("groups-bounded",),  # where learning rates alone are a lawful answer
    ),
    Operator(
        "clip-after-step",
        "The clip scales what the optimizer has already used.",
        ("clip-before-step",),
        _moved(ParsedProgram.steps, after),
    ),
    Operator(
        "clip-before-backward",
        "The clip runs before the gradient that it should bound exists.",
        ("clip-before-step", "clip-global-norm"),
        _moved(ParsedProgram.backwards, before),
        also=("accumulation-not-wiped",),  # under a loss scale
    ),
    Operator(
        "clip-each-micro-batch",
        "Each micro-batch is clipped as well, so late ones weigh more.",
        ("clip-once-per-update",),
        _each_micro_batch,
        # under a loss scale; where a window has one backward, it is a clip ahead of unscale_
        also=("accumulation-not-wiped", "unscaled-norm"),
        where="accumulation",
    ),
    Operator(
        "clip-again-by-returned-norm",
        "The returned norm is taken for the norm after clipping, and scales a second time.",
        ("clip-once-per-update", "clip-global-norm"),
        _around(
            "_norm = sum(float(p.grad.norm()) ** 2 for p in {p} if p.grad is not None) ** 0.5",
            "for p in {p}:\n    p.grad.mul_(min(1.0, ({t}) / _norm))",
        ),
    ),
    Operator(
        "clip-threshold-too-low",
        "The threshold is a thousandth: every update is clipped.",
        SIZE,
        _resized("* 0.001"),
    ),
    Operator(
        "clip-threshold-too-high",
        "The threshold is a thousand times too high: nothing is ever clipped.",
        ("clip-before-step", "clip-global-norm"),
        _resized("* 1000.0"),
        also=("groups-bounded",),
    ),
    Operator(
        "clip-threshold-times-window",
        "The threshold is multiplied by the micro-batches of a window.",
        ("clip-global-norm", "clip-before-step"),
        _resized("* 4"),
        where="accumulation",
    ),
    Operator(
        "clip-threshold-over-window",
        "The threshold is divided by the micro-batches of a window.",
        ("clip-inactive-when-small", "clip-global-norm"),
        _resized("/ 4"),
        where="accumulation",
    ),
    Operator(
        "clip-part-of-the-parameters",
        "Only the last layer is clipped.",
        ("clip-global-norm", "clip-before-step"),
        _of("list({})[-2:]"),
    ),
    Operator(
        "clip-each-parameter-alone",
        "Each parameter is clipped by itself, which turns the gradient.",
        ("clip-global-norm",),
        _with(
            lambda clip: f"max({_called(clip, 'p', _threshold(clip))} for p in {_parameters(clip)})"
        ),
    ),
    Operator(
        "clip-by-value",
        "Elements are cut off one by one, which turns the gradient.",
        ("clip-global-norm", "clip-inactive-when-small"),
        _with(
            lambda clip: (
                f"(torch.nn.utils.clip_grad_value_({_parameters(clip)}, ({_threshold(clip)}) * 0.1),"
                f" {_called(clip, _parameters(clip), NEVER)})[1]"
            )
        ),
        also=("groups-bounded",),
    ),
    Operator(
        "clip-by-largest-element",
        "The bound is on the largest element instead of the norm.",
        ("clip-global-norm", "clip-before-step"),
        _with(
            lambda clip: _called(
                clip, _parameters(clip), f'({_threshold(clip)}), norm_type=float("inf")'
            )
        ),
        where="named-threshold",
    ),
    Operator(
        "clip-exhausted-parameters",
        "The parameters are an iterator that something else has used up: nothing is clipped.",
        ("clip-global-norm", "measurement-is-fair"),
        _exhausted,
    ),
    Operator(
        "clip-normalises",
        "Small gradients are scaled up to the threshold.",
        ("clip-inactive-when-small",),
        _around(
            "_norm = sum(float(p.grad.norm()) ** 2 for p in {p} if p.grad is not None) ** 0.5",
            "for p in {p}:\n    p.grad.mul_(max(1.0, ({t}) / _norm))",
        ),
    ),
    Operator(
        "clip-every-other-update",
        "Only every other update is clipped.",
        ("clip-global-norm",),
        _every_other_time,
        also=("clip-before-step",),
    ),
    Operator(
        "clip-added",
        "Something clips where nothing has to, at a threshold that is always exceeded.",
        ("clip-inactive-when-small",),
        _added,
        also=("clip-global-norm",),  # where a clip by hand is there already, its threshold is lost
    ),
    Operator(
        "clip-all-groups-as-one",
        "One threshold bounds the whole model, and the loud part starves the quiet one.",
        ("clip-per-group",),
        _with(lambda clip: _called(clip, "model.parameters()", _threshold(clip))),
    ),
)
"""The operators on clips."""

WAITING = (
    Operator(
        "clip-waits",
        "The clip acts only on what exceeds its threshold tenfold.",
        ("clip-global-norm",),
        _with(_waiting),
        also=("clip-before-step",),
        where="named-threshold",
    ),
)
"""One that is tried last: which alternative an operator is tried on goes by its place."""

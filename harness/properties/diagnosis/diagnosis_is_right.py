"""The printed diagnosis is true, and tells healthy small gradients from vanishing ones.

Bug::

    loss.backward()
    total = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    print(f"grad norm: {total:.4f}")       # 0.0000 for a loss in small units that trains well
    if total < 1e-4:
        print("vanishing gradients!")      # and for a model whose first layers get nothing

Signature: on neither probe, or alike on both, the printed numbers hold norms of early and of late
layers or their ratio, to the printed precision. One number for the whole model is the same in
both cases. Or the program has words for gradients that vanish and for those that do not, and says
the wrong ones; or most norms stand beside the names of other parameters or layers.

Masked by: looking at one workload only; rounding to fixed decimals.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.diagnosis.announced import false_alarm, false_all_clear, look_alike
from harness.properties.diagnosis.layers import ShownLayers, shown
from harness.properties.diagnosis.named_norms import misnamed
from harness.properties.evidence.figures import number, show
from harness.properties.property import Expected, Property

ID = "diagnosis-is-right"

APART = 10.0
"""Early-to-late ratios of the two workloads that differ by less than this factor look alike to a
reader.
"""

TOO_FEW_DECIMALS = (
    "Norms were printed with so few decimals that they became 0: healthy small gradients look like "
    "none. Print them in scientific notation (.2e)."
)
"""What is said of zeros in plain notation."""

NOTHING_READ = (
    "Zeros were printed in scientific notation where the true norms are not 0, so nothing was rounded: "
    "gradients were read where there are none (after zero_grad, before backward), or training had made "
    "them 0. Read p.grad between backward and step, and leave it as it is."
)
"""What is said of zeros in scientific notation."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """What a reader could tell from the output on both workloads."""
    healthy, unhealthy = (
        trace.probe(expectations.healthy_probe),
        trace.probe(expectations.unhealthy_probe),
    )
    if healthy is None or unhealthy is None:
        return inconclusive(
            ID, "There are no two probes, one healthy and one vanishing, to tell apart."
        )
    well, ill = shown(healthy), shown(unhealthy)
    if well is None or ill is None:
        return inconclusive(ID, "No gradient was computed that a diagnostic could have printed.")
    if (wrong := in_words(healthy, unhealthy)) is not None:
        return wrong
    if not well.count and not ill.count:
        return inconclusive(ID, "The program printed no number on either workload.")
    if well.contrast is not None and ill.contrast is not None:
        return told_apart(well.contrast, ill.contrast)
    same = look_alike(healthy.program, unhealthy.program)
    return nothing_to_tell(well, ill) if same else too_little(well, ill)


def in_words(healthy: ProbeTrace, unhealthy: ProbeTrace) -> Verdict | None:
    """The fail where the program's own words are wrong, or the names beside its numbers."""
    denied = false_all_clear(unhealthy.program)
    if denied is not None:
        return called_healthy(denied, unhealthy.probe)
    alarm = false_alarm(healthy.program)
    if alarm is not None:
        return called_vanishing(alarm, healthy.probe)
    line = misnamed(healthy) or misnamed(unhealthy)
    return under_other_names(line) if line is not None else None


def called_healthy(line: str, where: str) -> Verdict:
    """The fail for an all-clear where gradients vanish."""
    return failed(
        ID,
        f'In {where} the early layers get next to nothing, and the program printed "{line[:120]}": its '
        "own alarm never came. Compare the first layer's norm with the last one's, that way round.",
    )


def called_vanishing(line: str, where: str) -> Verdict:
    """The fail for an alarm where all layers get their gradient."""
    return failed(
        ID,
        f'In {where} all layers get alike and training is fine, and the program printed "{line[:120]}": '
        "its alarm depends on the units of the loss. Compare layers with each other, not with a "
        "fixed number.",
    )


def under_other_names(line: str) -> Verdict:
    """The fail for true norms beside the names of other parameters."""
    return failed(
        ID,
        f'The program printed "{line[:120]}": a true norm, and that of another parameter or layer. Take '
        "name and norm from one loop over named_parameters().",
    )


def nothing_to_tell(well: ShownLayers, ill: ShownLayers) -> Verdict:
    """The fail for an output that is the same on both workloads."""
    return failed(
        ID,
        "The program printed the same words and numbers of the same sizes on the healthy and on the "
        "vanishing workload, and these are no norms of its layers: a reader cannot tell them "
        "apart. Print the norm of each layer's gradient, in scientific notation.",
        number("numbers printed, healthy", well.count),
        number("numbers printed, vanishing", ill.count),
    )


def told_apart(well: float, ill: float) -> Verdict:
    """Compare the printed early-to-late ratios of the two workloads."""
    figures = (number("early over late, healthy", well), number("early over late, vanishing", ill))
    if ill * APART <= well and well > 0.0:
        return passed(
            ID,
            f"The printed norms are true, layer by layer: early layers get {show(well)} of the "
            f"late ones' gradient on the healthy workload, {show(ill)} on the vanishing one.",
            *figures,
        )
    return failed(
        ID,
        f"The printed norms give early over late {show(well)} on the healthy and {show(ill)} on "
        "the vanishing workload: a reader cannot tell them apart. Print the norm of each layer's "
        "weight, first to last, in scientific notation.",
        *figures,
    )


def too_little(well: ShownLayers, ill: ShownLayers) -> Verdict:
    """A fail when the output is a diagnosis that cannot tell the workloads apart; else inconclusive."""
    figures = (
        number("numbers printed, healthy", well.count),
        number("numbers printed, vanishing", ill.count),
    )
    if well.rounded or (ill.rounded and not ill.late):
        zeros = well if well.rounded else ill
        return failed(ID, NOTHING_READ if zeros.empty else TOO_FEW_DECIMALS, *figures)
    if (well.whole or ill.whole) and not (layered(well) or layered(ill)):
        return failed(
            ID,
            "Only the norm of the whole gradient was printed "
            f"({show((well.whole or ill.whole)[0])}): it depends on units, and says nothing about "
            "where gradients vanish. Print it layer by layer.",
            *figures,
        )
    return inconclusive(
        ID,
        "The printed numbers are not norms of both early and late layers on both workloads.",
        *figures,
    )


def layered(shown: ShownLayers) -> bool:
    """Whether the norm of a layer was printed; with few digits the whole norm may be mistaken for
    one.
    """
    return not {*shown.early, *shown.late} <= set(shown.whole)


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(
        Expected(
            "healthy_probe",
            "healthy_probe: NAME  # the probe in which training is fine",
        ),
        Expected(
            "unhealthy_probe",
            "unhealthy_probe: NAME  # the probe in which gradients vanish",
        ),
    ),
    needs="a healthy and a vanishing probe, and numbers printed on both",
    rests_on="end",
)

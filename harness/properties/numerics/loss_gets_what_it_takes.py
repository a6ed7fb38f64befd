"""A loss gets logits or probabilities as it takes them, one shape, and advantages that are numbers.

Bug::

    probabilities = torch.softmax(model(x), dim=1)
    loss = nn.functional.cross_entropy(probabilities, y)     # which takes softmax itself
    loss.backward()

    advantage = returns - values                             # to be detached
    loss = -(dist.log_prob(actions) * advantage).mean() + F.mse_loss(values, returns)

Signature: the first argument of ``cross_entropy``, ``nll_loss`` or ``kl_div`` is what a softmax
returned, or that of ``binary_cross_entropy_with_logits`` is what a sigmoid returned, be it in another
shape; or the mean of an elementwise loss is taken over rows beside columns, (n, 1) beside (n,), so that
each prediction is compared with each target; or weights of samples are multiplied with a mean, or each
with the loss of every sample; or the target of an elementwise loss is a number plus, times another,
what the very layer returned that made the prediction, in the graph; or a log-probability is multiplied
by what a critic returned, taken from a number, and a step changes the critic by the gradient of that
product; or a policy's loss takes the larger of the clipped and the unclipped product, or adds the
entropy of its policy; or a step goes up the loss of a classifier that nothing else trains, while the
rest of the model has a loss of its own; or the state of a recurrent layer is cut off at each time step
of a window.

Masked by: a loss that falls. After a second softmax it comes to rest far from 0; predictions that are
compared with all targets come to rest at their mean. A critic that the policy's loss pulls along still
follows the returns, if worse, and rewards rise for a while.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, number
from harness.properties.evidence.windows import of_probe
from harness.properties.property import Property

ID = "loss-gets-what-it-takes"

ONE_SHAPE = (
    "each prediction is compared with each target, and all of them are drawn to the mean of these: "
    "bring both to one shape, say by squeeze(1)"
)

MISLED = 3
"""So many steps by such a gradient are no accident; nor are fewer, where it makes no more."""

TAKES = {
    "cross_entropy": "it takes logits, and softmax of them itself: give it the logits",
    "binary_cross_entropy_with_logits": "it takes logits, and the sigmoid of them itself: give it the "
    "logits, or call binary_cross_entropy",
    "nll_loss": "it takes logarithms of probabilities: call log_softmax instead",
    "kl_div": "its first argument is logarithms of probabilities: call log_softmax instead",
    "a product with weights": "they weigh nothing then. Take the loss of each sample "
    '(reduction="none") in the shape of the weights, multiply, and add up',
    "a part that is trained": "no gradient goes back through sample() to what its distribution was made "
    "of. Call rsample(), or multiply a noise of one's own with the deviation and add the mean",
    "a network that only makes targets": "a teacher moves towards its pupil then. Run it under "
    "torch.no_grad(), and leave it out of the optimizer",
    "a bootstrapped target": "the target is trained towards the prediction as well. Compute it under "
    "torch.no_grad(), or detach it",
    "a surrogate": "only the smaller of the product with the ratio and that with the clipped one bounds "
    "an update: minimise -torch.min(ratio * advantage, clipped * advantage)",
    "a policy's loss": "the entropy is made small then, and the policy stops trying: subtract it",
    "a classifier": "it is trained to be wrong. Reverse the gradient between the features and it, and "
    "add its loss; or keep its parameters out of that step",
    "a difference": ONE_SHAPE,
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"), ONE_SHAPE),
}
"""What each loss takes, and what to do."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Look for losses that were given what they do not take."""
    del expectations
    for probe in trace.probes:
        if probe.program.misfed:
            name, _, given = probe.program.misfed[0].partition(" of ")
            return failed(
                ID,
                f"In {probe.probe} {name} was given {given}: {TAKES[name]}.",
                number("losses that were given what they do not take", len(probe.program.misfed)),
            )
        if probe.program.states_cut:
            return failed(
                ID,
                f"In {probe.probe} a recurrent layer was given its own state without a graph in each "
                "time step of a window, so that no gradient goes back through time. Detach the state "
                "once a window, before its first step.",
                number("windows of states that were cut off", probe.program.states_cut),
            )
        if 0 < min(len(probe.updates), MISLED) <= probe.program.critics_misled:
            return failed(
                ID,
                f"In {probe.probe} the loss of the policy trains the critic as well: the advantage that "
                "it multiplies log-probabilities with is in the graph, so that values move to make the "
                "policy's loss small. Detach the advantage there; the critic has a loss of its own.",
                number(
                    "steps that train the critic by the policy's loss", probe.program.critics_misled
                ),
            )
    updates = [w for probe in trace.probes for w in of_probe(probe)]
    if not updates:
        return inconclusive(ID, "No update was seen.")
    return passed(
        ID,
        f"In {count(len(updates), 'update')} each loss was given what it takes.",
        number("updates", len(updates)),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.updates,
    needs="an update",
)

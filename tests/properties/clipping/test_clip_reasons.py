"""What is said of a clip tells what the calls and the gradients show."""

from tests.fakes.traces import backward, probe, rank, trace, update
from tests.properties.verdicts import on


def test_a_direction_that_changed_after_an_overflow_is_no_clip_by_value():
    """What replaces infinities before the scaler has looked turns the gradient too."""
    turned = update(
        0, true=10, consumed=3.0, turned=0.5, unexplained=0.4, unexplained_by_parameter=0.4
    ).model_copy(update={"elements_cut_at": 1.0})

    def said(*, finite):
        seen = rank([turned], backwards=[backward(finite=finite)])
        return on("clip-global-norm", trace(probe("loud", ranks=[seen]))).sentence

    assert "each element was cut off on its own" in said(finite=True)
    assert "what was not finite was replaced" in said(finite=False)

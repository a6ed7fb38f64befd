"""Names that stand beside printed norms."""

import pytest

from harness.properties.diagnosis.named_norms import misnamed
from tests.fakes.traces import learning, probe, program, update

NORMS = {
    "0.weight": (1.37e-6,), "0.bias": (2.2e-7,), "2.weight": (4.56e-6,), "2.bias": (3.3e-7,),
    "4.weight": (7.89e-6,), "4.bias": (4.4e-7,), "6.weight": (2.46e-6,), "6.bias": (5.5e-7,),
}  # fmt: skip
LAYERS = ("0", "2", "4", "6")
TURNED = ("2", "4", "6", "0")


def printed(names, write="layer {}: {:.2e}", renamed=str):
    norms = {renamed(name): values for name, values in NORMS.items()}
    own = [NORMS[f"{layer}.weight"][0] for layer in LAYERS]
    text = "  ".join(write.format(n, v) for n, v in zip(names, own, strict=True))
    return misnamed(
        probe(
            "usual",
            update(0),
            program=program(texts=(text,)),
            learning=learning(printed_norms=norms),
        )
    )


@pytest.mark.parametrize(
    "write", ["layer {}: {:.2e}", "Linear({}) {:.2e}", "step 0 module_{} {:.2e}"]
)
def test_a_norm_beside_another_layers_name_is_misnamed(write):
    assert printed(TURNED, write)
    assert printed(LAYERS, write) is None


def test_layers_with_names_of_their_own_need_no_word_before_them():
    def called(name):
        return f"net.{name}"

    assert printed(map(called, TURNED), "{} {:.2e}", called)
    assert printed(map(called, LAYERS), "{} {:.2e}", called) is None


@pytest.mark.parametrize("names", [range(4), range(1, 5), ("0", "2", "2", "0")])
def test_layers_that_are_counted_are_not_those_of_these_names(names):
    assert printed(names) is None


def test_a_number_alone_is_no_layers_name():
    assert printed(TURNED, "{} {:.2e}") is None

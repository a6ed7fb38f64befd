"""A model that another is made of, beside an optimizer that the program was lent."""

import pytest

from harness.domain.trace import Trace
from harness.properties.own.exchanged import exchanges_its_model
from tests.fakes.traces import probe, program

LOOP = "for x, y in loader:\n    criterion(prepared(x), y).backward()\n    optimizer.step()\n"


@pytest.mark.parametrize(
    ("made", "bound", "exchanges"),
    [
        ("", ("model: model", "optimizer: optimizer"), True),
        ("model = ResNet()\n", ("optimizer: optimizer",), True),
        ("model = ResNet()\noptimizer = SGD(model.parameters())\n", (), False),
        ("name = 'a'\n", ("optimizer: optimizer",), False),
    ],
)
def test_what_a_lent_optimizer_holds_is_not_known_where_another_model_is_made(
    made, bound, exchanges
):
    """Whether that model is lent or made by the program."""
    given = "name" if made.startswith("name") else "model"
    source = f"{made}prepared = prepare_qat({given})\n{LOOP}"
    ran = program().model_copy(update={"source": source, "bound": bound})
    seen = Trace(probes=(probe().model_copy(update={"program": ran}),))

    assert exchanges_its_model(seen) is exchanges

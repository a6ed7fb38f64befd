"""A program that exchanges or adds layers of the model that it was given is judged by what it recorded."""

import pytest

from harness.domain.grade import code_of
from harness.properties import completion, judge
from tests.quality.judging import SCENARIOS, Court

EACH = """import torch

for name, child in list(model.named_children()):
    if isinstance(child, (torch.nn.ReLU, torch.nn.Tanh)):
        setattr(model, name, {})
"""
ANEW = "optimizer = torch.optim.SGD(model.parameters(), lr=0.05)\n"

CHANGES = {
    "other activations": EACH.format("torch.nn.GELU()"),
    "dropout": EACH.format("torch.nn.Sequential(child, torch.nn.Dropout(0.2))"),
    "normalisation": "import torch\n\nmodel.insert(0, torch.nn.LayerNorm(16))\n" + ANEW,
    "a layer of the same sizes": (
        "import torch\n\nfirst = model[0]\n"
        "model[0] = torch.nn.Linear(first.in_features, first.out_features)\n" + ANEW
    ),
    "hardly another output": "import torch\n\nmodel.append(torch.nn.Tanh())\n",
}
LOOPS = ("clip-before-backward", "accumulation-loss-not-divided")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("scenario", LOOPS)
def test_a_loop_is_right_or_wrong_whatever_layers_the_program_exchanged(
    court: Court, scenario: str, change: str
) -> None:
    right, wrong = SCENARIOS[scenario].reference, SCENARIOS[scenario].buggy

    found = [court.judged(SCENARIOS[scenario], CHANGES[change] + loop) for loop in (right, wrong)]

    assert [one.code for one in found] == ["right", "wrong"], found[0].story()
    assert set(SCENARIOS[scenario].buggy_fails) <= found[1].failed


def test_an_optimizer_that_holds_the_layer_that_was_there_before_is_found(court: Court) -> None:
    scenario = SCENARIOS["clip-before-backward"]
    kept = CHANGES["a layer of the same sizes"].removesuffix(ANEW)

    found = court.judged(scenario, kept + scenario.reference)

    assert "every-parameter-learns" in found.failed


REWRITTEN = """
import gc

shown = {"factor": 1.0}
for kind in {type(o) for o in gc.get_objects() if hasattr(type(o), "gradient_values")}:

    def blob(self, name, tensor, honest=kind.blob):
        return honest(self, name, tensor * shown["factor"] if name.startswith("grad:") else tensor)

    kind.blob = blob
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item()
    shown["factor"] = min(1.0, 1.0 / (norm + 1e-6))
    optimizer.step()
    shown["factor"] = 1.0
"""


def test_of_exchanged_layers_too_parameters_follow_from_the_gradient_on_record(
    court: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, program = (
        SCENARIOS["clip-before-backward"],
        CHANGES["hardly another output"] + REWRITTEN,
    )

    found = court.judged(scenario, program)
    monkeypatch.setattr(completion, "does_not_follow", lambda _: None)
    believed = judge(found.trace, scenario)

    assert found.code == "inconclusive", found.story()
    assert code_of(believed) == "right"

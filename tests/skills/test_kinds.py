"""What a piece of code is, by its structure."""

import pytest

from harness.skills.kinds import kind_of

KINDS = {
    "training-loop": [
        "for x, y in loader:\n    criterion(model(x), y).backward()\n    optimizer.step()",
        "clip_grad_norm_(model.parameters(), 1.0)",
        "loss.backward()\nprint(1)",
        "trainer = L.Trainer(gradient_clip_val=1.0)",
        "class M(L.LightningModule):\n    def training_step(self, b, i):\n        return 0",
        "def check(m):\n    return [p.grad for p in m.parameters()]\nloss.backward()\ncheck(model)",
    ],
    "gradient-function": [
        "def clip(model):\n    clip_grad_norm_(model.parameters(), 1.0)",
        "def noise(params):\n    for p in params:\n        p.grad.add_(1)",
        "def centre(grad):\n    return grad - grad.mean()",
    ],
    "update-function": ["def step(model, opt):\n    model().backward()\n    opt.step()"],
    "inspection": [
        "def norms(model):\n    return [p.grad.norm() for p in model.parameters()]",
        "total = sum(p.grad.norm() for p in model.parameters())",
        "if torch.isnan(loss):\n    print('NaN')",
    ],
    "loss": [
        "def f(pred, target):\n    return (pred / target).mean()",
        "loss = -torch.log(predictions)",
    ],
    "module": ["class M(nn.Module):\n    pass"],
    "initialisation": ["def init(m):\n    nn.init.zeros_(m.weight)"],
    "scheduler": ["def lr(step, warmup_steps, base_lr):\n    return base_lr"],
    "measurement": ["t = time.perf_counter()\nloss.backward()\noptimizer.step()"],
    "configuration": ["max_norm = 1.0"],
    "pseudo-code": ["# nothing but words", '"""A sentence."""', "..."],
    "fragment": [
        "train the model",
        "for x in y:\n    z(x)",
        "for _ in range(9):\n    state = self.env.step(action)",
    ],
}


@pytest.mark.parametrize(("kind", "code"), [(k, c) for k, found in KINDS.items() for c in found])
def test_structure_decides_the_kind(kind, code):
    assert kind_of(code) == kind


def test_names_do_not_decide_the_kind_of_a_loop():
    code = "for a, b in c:\n    d(e(a), b).backward()\n    f.step()"
    assert kind_of(code) == "training-loop"

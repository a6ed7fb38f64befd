"""What a program expects a model, or a criterion, to give back: outputs, a loss, or both in any form.

Each form is run beside the plain loop, as it should be and with a fault. The weights are the same at the
end, so whatever is right or wrong about a loop is so in any form of it.
"""

import pytest

from tests.sandbox.binding.spellings import WITH_LOSS

START = "mean_loss, seen = torch.zeros(1), []\n"
PLAIN = ("x, y", "loss = criterion(model(x), y)")

FORMS = {
    "a loss": ("x, y", "loss = model(x, y)"),
    "a loss, by keyword": ("x, y", "loss, _ = model(x, labels=y)"),
    "a loss behind the logits": ("x, y", "logits, loss = model(x, y)"),
    "a loss before the logits": ("x, y", "loss, logits = model(x, y)"),
    "a loss before the logits, as a slice": ("x, y", "loss, logits = model(x, y)[:2]"),
    "a loss at the first place": ("x, y", "outputs = model(x, labels=y)\n    loss = outputs[0]"),
    "an object": ("x, y", "loss = model(x, y).loss"),
    "a mapping": ("x, y", "loss = model(x, y)['loss']"),
    "a loss of inputs alone": ("batch", "loss = model(batch)"),
    "a loss of inputs alone, and two more": ("x, _", "loss, _, _ = model(x, mask_ratio=0.75)"),
    "a loss of inputs alone, and figures": (
        "batch",
        "loss, figures = model(batch)\n    seen.append({k: v for k, v in figures.items()})",
    ),
    "a loss of a whole batch": (
        "batch",
        "batch = {k: v.to(device) for k, v in batch.items()}\n    loss = model(**batch)[0]",
    ),
    "a loss of a whole batch, not taken apart": (
        "batch",
        "batch = {k: v.to(device) for k, v in batch.items()}\n    loss = model(batch)['loss']",
    ),
    "a loss by a method": ("batch", "loss = model.compute_loss(batch)"),
    "losses": ("x, y", "losses = model(x, y)\n    loss = sum(losses.values())"),
    "losses, one by one": (
        "x, y",
        (
            "losses = model(x, y)\n    loss = 0\n    for name, part in losses.items():\n"
            "        loss = loss + part"
        ),
    ),
    "losses by their names": (
        "x, y",
        "losses = model(x, y)\n    loss = losses['loss_box'] + losses['loss_class']",
    ),
    "losses of samples": (
        "images, targets",
        (
            "images = list(image.to(device) for image in images)\n"
            "    targets = [{k: v.to(device) for k, v in t.items()} for t in targets]\n"
            "    loss = sum(part for part in model(images, targets).values())"
        ),
    ),
    "losses that others reduce and show": (
        "x, y",
        (
            "losses = model(x, y)\n    loss = sum(losses.values())\n"
            "    shown = sum(part for part in reduce_dict(losses).values())\n"
            "    seen.append(shown.item())"
        ),
    ),
    "a criterion's losses, with weights": (
        "x, y",
        (
            "parts = criterion(model(x), y)\n    weights = criterion.weight_dict\n"
            "    loss = sum(parts[k] * weights[k] for k in parts.keys() if k in weights)"
        ),
    ),
    "a criterion's total": ("x, y", "parts = criterion(model(x), y)\n    loss = parts['total']"),
    "a criterion's loss, and figures": (
        "x, y",
        "loss, items = compute_loss(model(x), y)\n    mean_loss = (mean_loss * 3 + items) / 4",
    ),
}

STEP = "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
FAULTS = {
    "right": STEP,
    "never cleared": STEP.replace("    optimizer.zero_grad()\n", ""),
    "clipped late": STEP + "    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)\n",
    "divided": STEP.replace("loss.backward", "(loss / 4).backward"),
}


def loop(form, body):
    names, forward = form
    return START + f"for {names} in train_loader:\n    {forward}\n{body}"


@pytest.fixture(scope="module")
def plain(run):
    return {fault: run(loop(PLAIN, body)).weights for fault, body in FAULTS.items()}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("form", FORMS)
def test_whatever_form_a_loss_comes_in_training_is_the_same(run, plain, form, fault):
    """Also where something is wrong with it."""
    ran = run(loop(FORMS[form], FAULTS[fault]))

    assert (ran.error, ran.steps) == (None, 14), ran.message
    flat = [value for row in ran.weights for value in row]
    assert flat == pytest.approx([v for row in plain[fault] for v in row], abs=1e-6)


def test_faults_change_the_weights(plain):
    """Else nothing would have been compared above; a clip after the step changes nothing, and so should."""
    assert plain["right"] != plain["never cleared"] != plain["divided"] != plain["right"]
    assert plain["right"] == plain["clipped late"]


REFUSED = {
    "weighted parts": (
        "parts = model(x, y)\n    loss = parts['a_loss'] + 0.1 * parts['b_loss']",
        "gives parts of a loss that are weighted",
    ),
    "a loss beside a criterion's": (
        "logits, extra = model(x, y)\n    loss = criterion(logits, y) + extra",
        "added to another",
    ),
    "a loss of other inputs": (
        "loss = model(x + 1)",
        "computes its loss itself, from inputs that are not the data's",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_where_nobody_says_what_the_loss_is_none_is_made_up(run, case):
    """One guess of a weight would call a right loop wrong."""
    forward, why = REFUSED[case]

    ran = run(loop(("x, y", forward), STEP))

    assert ran.error == "Unbound"
    assert why in ran.message


@pytest.mark.parametrize(
    "backward",
    [
        "out = model(x)\n    loss = ((out - y) ** 2).mean()",
        "out = model(x)\n    loss = out.sum()",
        "out = model(x)\n    loss = criterion(out, y)",
        "out = model(x)\n    out = criterion(out, y)\n    loss = out",
    ],
)
def test_outputs_stay_outputs(run, backward):
    """What a loss is made of is not the loss."""
    ran = run(
        START + f"for x, y in train_loader:\n    {backward}\n{STEP}"
        "    seen.append(tuple(model(x).shape) == (len(x), 3))\nresult = all(seen)\n"
    )

    assert (ran.error, ran.result) == (None, "True"), ran.message


def test_a_model_of_its_own_that_computes_the_loss_leaves_the_one_inside_alone(run, plain):
    """Both go by one name; the model inside gave a loss of its own to the criterion once."""
    ran = run(WITH_LOSS + loop(("batch", "loss = model(batch)"), STEP))

    assert ran.error is None, ran.message
    flat = [value for row in ran.weights for value in row]
    assert flat == pytest.approx([v for row in plain["right"] for v in row], abs=1e-6)


def test_gradients_that_are_handed_to_backward_are_those_of_outputs(run):
    """A loss would take none."""
    ran = run(
        "for x, y in train_loader:\n    optimizer.zero_grad()\n    out = model(x)\n"
        "    out.backward(torch.ones_like(out))\n    optimizer.step()\n    result = out.ndim\n"
    )

    assert (ran.error, ran.result) == (None, "2"), ran.message

"""What is filled in around the lines of an example, and what is left as it is."""

import pytest

from harness.checking.completing import complete


def completed(code: str, *, accumulates: bool = False) -> list[str]:
    return complete(code, accumulates=accumulates).program.splitlines()


def test_a_turn_gets_a_loop_a_forward_pass_and_cleared_gradients():
    assert completed("loss.backward()\noptimizer.step()") == [
        "for _i, (_inputs, _targets) in enumerate(train_loader):",
        "    optimizer.zero_grad()",
        "    loss = criterion(model(_inputs), _targets)",
        "    loss.backward()",
        "    optimizer.step()",
    ]


def test_a_loop_that_is_whole_is_left_alone():
    code = "for x, y in loader:\n    criterion(net(x), y).backward()\n    optimizer.step()"
    assert complete(code, accumulates=False).added == ()
    assert completed(code) == code.splitlines()


def test_a_loop_whose_missing_zero_grad_is_the_point_gets_none():
    code = "for i, b in enumerate(loader):\n    (loss / 4).backward()\n    if (i + 1) % 4 == 0:\n        optimizer.step()"
    assert not any("zero_grad" in line for line in completed(code))


def test_the_forward_pass_stands_before_what_is_shown_so_that_a_no_sync_is_left_as_it_is():
    code = "for i, b in enumerate(loader):\n    with ddp.no_sync():\n        loss.backward()\n    optimizer.step()"
    lines = completed(code)
    inside = lines.index("    with ddp.no_sync():")
    assert "    loss = criterion(ddp(_inputs), _targets)" in lines[:inside]
    assert lines[inside + 1] == "        loss.backward()"


def test_the_wrapped_model_is_the_one_that_is_called():
    code = "wrapped = DistributedDataParallel(net)\nfor b in loader:\n    loss.backward()\n    opt.step()"
    assert any("criterion(wrapped(" in line for line in completed(code))


def test_lines_about_accumulation_without_a_step_become_windows():
    lines = completed("(loss / 4).backward()", accumulates=True)
    assert "    if (_i + 1) % accumulation_steps == 0:" in lines
    assert lines[0] == "optimizer.zero_grad()"


def test_the_names_that_a_turn_uses_for_its_batch_are_kept():
    lines = completed("output = model(input)\nloss = criterion(output, target)\nloss.backward()")
    assert "for _i, (input, target) in enumerate(train_loader):" in lines


@pytest.mark.parametrize("code", ["clip_grad_norm_(...)", "optimizer.step()\nclip_grad_norm_(...)"])
def test_left_out_arguments_of_a_clip_are_those_that_everybody_uses(code):
    assert any("clip_grad_norm_(model.parameters(), 1.0)" in line for line in completed(code))


def test_a_hook_for_clipping_gets_a_trainer_that_uses_it():
    code = "import lightning as L\nclass M(L.LightningModule):\n    def configure_gradient_clipping(self, *a):\n        pass"
    assert "gradient_clip_val" in complete(code, accumulates=False).program

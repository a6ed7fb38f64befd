"""Options that nobody gives a value: texts, rates, schedules, and what is read of the model."""

import ast

import pytest

HEAD = "for step, (x, y) in enumerate(train_loader):\n"
STEP = (
    "    loss = criterion(model(x), y)\n    optimizer.zero_grad()\n    loss.backward()\n"
    "    optimizer.step()\n"
)

DISPATCH = """
def dispatch(parameters, value, mode="norm"):
    if mode == "norm":
        result.append("norm")
        torch.nn.utils.clip_grad_norm_(parameters, value)
    elif mode == "value":
        result.append("value")
        torch.nn.utils.clip_grad_value_(parameters, value)
    elif mode == "agc":
        adaptive_clip_grad(parameters, value)
    else:
        assert False, mode
"""

BY_NORM, BY_VALUE = (
    f"result.append('{name}'); torch.nn.utils.clip_grad_{name}_(model.parameters(), 1.0)"
    for name in ("norm", "value")
)

CHOSEN = {
    "one or the other": (
        f"    if args.clip_mode == 'value':\n        {BY_VALUE}\n"
        f"    elif args.clip_mode == 'norm':\n        {BY_NORM}\n"
    ),
    "one of several": f"    if cfg['clip'] in ('norm', 'global'):\n        {BY_NORM}\n",
    "none of several": f"    if cfg.clip not in ['value', 'agc']:\n        {BY_NORM}\n",
    "no part of it": f"    if 'agc' not in args.clip_mode:\n        {BY_NORM}\n",
    "by value, else by norm": (
        f"    if args.mode == 'value':\n        {BY_VALUE}\n    else:\n        {BY_NORM}\n"
    ),
    "unless there is none": (
        f"    if args.clip is not None and args.mode.lower() != 'none':\n        {BY_NORM}\n"
    ),
    "in a function": "    dispatch(model.parameters(), args.clip_grad, args.clip_mode)\n",
}


@pytest.mark.parametrize("case", CHOSEN)
def test_an_option_has_the_text_with_which_the_loop_clips_by_norm(run, case):
    """It was on or off, as its name said, and a loop that clips was called one that does not."""
    ran = run("result = []\n" + DISPATCH + HEAD + STEP + CHOSEN[case])

    assert (ran.error, ran.result) == (None, repr(["norm"] * 14)), ran.message


def test_an_option_that_decides_nothing_has_the_text_that_is_asked_for(run):
    """The first of several; a text that it must not have is another."""
    ran = run(
        "if args.optimizer == 'sgd':\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "elif args.optimizer == 'adam':\n    optimizer = torch.optim.Adam(model.parameters())\n"
        "else:\n    raise RuntimeError(args.optimizer)\n"
        "result = type(optimizer).__name__, 'agc' in args.clip_mode\n" + HEAD + STEP
    )

    assert (ran.error, ran.result) == (None, "('SGD', False)"), ran.message


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop"])
def test_a_free_rate_fits_the_optimizer_that_the_program_builds(run, name):
    """Ten times the rate at which it learns, and a right loop was called one that does not."""
    ran = run(
        f"optimizer = torch.optim.{name}(model.parameters(), lr=args.lr)\nresult = args.lr\n"
        + HEAD
        + STEP
    )
    plain = run(
        "optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)\nresult = args.lr\n"
        + HEAD
        + STEP
    )

    assert (ran.result, plain.result) == ("0.001", "0.05")


def test_an_option_is_not_what_ends_the_program_before_it_trains(run):
    """Nor is it one that is refused."""
    ran = run(
        "def main():\n    if args.phase == 'test':\n        print('tested')\n        return\n"
        "    if args.kind not in ('a', 'b'):\n        raise ValueError(args.kind)\n"
        + "".join(f"    {line}\n" for line in (HEAD + STEP).splitlines())
        + "main()\n"
    )

    assert (ran.error, ran.steps) == (None, 14), ran.message


def test_betas_may_be_given_one_by_one(run):
    """Under names that tell nothing."""
    ran = run(
        "optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr, betas=(opt.b1, opt.b2))\n"
        "result = optimizer.defaults['betas']\n" + HEAD + STEP
    )

    assert (ran.error, ran.result) == (None, "(0.9, 0.999)"), ran.message


def test_a_schedule_may_be_a_list(run):
    """A rate and a decay for every update."""
    ran = run(
        HEAD + "    for group in optimizer.param_groups:\n        group['lr'] = lr_schedule[step]\n"
        "        group['weight_decay'] = wd_schedule[step]\n"
        + STEP
        + "result = [(g['lr'], g['weight_decay']) for g in optimizer.param_groups]\n"
    )

    assert (ran.error, ran.steps, ran.result) == (None, 14, "[(0.05, 0.0)]"), ran.message


READ = {
    "a size": "assert x.shape[1] == model.n_inputs",
    "another": "torch.zeros(len(x), model.n_classes) + model(x)",
    "a setting": "print('hello' if model.verbose else '')",
    "a writer": "model.board.add_scalar('loss', 0.0, step)",
    "a scale of its own": (
        "with torch.no_grad():\n        unwrap_model(model).logit_scale.clamp_(0, 4.6)"
    ),
}


@pytest.mark.parametrize("case", READ)
def test_what_is_read_of_the_model_and_is_no_part_of_it_is_there(run, case):
    """Whatever is computed with it, nothing is trained."""
    ran = run(f"{HEAD}    {READ[case]}\n{STEP}")

    assert (ran.error, ran.steps) == (None, 14), ran.message


def test_a_part_that_the_model_lacks_is_not_made_up(run):
    """Its parameters would be somebody else's."""
    ran = run(HEAD + "    model.head.weight.grad = None\n" + STEP)

    assert ran.error == "Unbound"
    assert "does not exist on the workload's model" in ran.message


def test_a_range_begins_at_its_beginning(run):
    """Where it began and where it ended were the same number of epochs, so nothing ran."""
    ran = run(
        "for epoch in range(first_epoch, args.num_epochs):\n"
        + "".join("    " + line + "\n" for line in (HEAD + STEP).splitlines())
    )

    assert ran.steps == 28


def test_a_counter_that_somebody_else_moves_is_not_taken_for_one_that_stands(run):
    """Every batch would be the first of its window."""
    ran = run(
        HEAD + "    loss = criterion(model(x), y)\n    loss.backward()\n"
        "    if engine.state.iteration % 4 == 0:\n        optimizer.step()\n"
        "        optimizer.zero_grad()\n"
    )

    assert ran.error == "Unbound"
    assert "counts batches somewhere else" in ran.message


def test_a_helper_that_clips_is_not_left_out(run):
    """A right loop was called one that never clips."""
    ran = run(HEAD + STEP + "    clip_params(list(model.parameters()), 1.0)\n")

    assert ran.error == "Unbound"
    assert "clips, as its name says, and nobody says how" in ran.message


def test_a_helper_that_clips_in_a_branch_that_is_not_taken_hinders_nobody(run):
    """It is asked for when it is called."""
    ran = run(HEAD + STEP + "    if args.debug:\n        clip_params(model.parameters(), 1.0)\n")

    assert (ran.error, ran.steps) == (None, 14), ran.message


TIMM = """
def train_one_epoch(epoch, model, loader, optimizer, loss_fn, args, {scaler}):
    for x, y in loader:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        if loss_scaler is not None:
            loss_scaler(loss, optimizer, clip_grad=args.clip_grad, clip_mode=args.clip_mode,
                        parameters=model_parameters(model, exclude_head='agc' in args.clip_mode))
        else:
            loss.backward()
            if args.clip_grad is not None:
                dispatch_clip_grad(model_parameters(model), value=args.clip_grad, mode=args.clip_mode)
            optimizer.step()
        result.append(sum(p.grad.norm() ** 2 for p in model.parameters()).sqrt().item())
"""


@pytest.mark.parametrize("scaler", ["loss_scaler", "loss_scaler=None"])
def test_the_helpers_of_a_well_known_script_do_what_they_do(run, scaler):
    """They are pasted by nobody, and clip."""
    ran = run("result = []\n" + TIMM.format(scaler=scaler), parameters={"target_scale": 50.0})

    assert ran.error is None, ran.message
    assert ran.steps == 28
    assert all(norm == pytest.approx(1.0, abs=1e-3) for norm in ast.literal_eval(ran.result))


def test_a_list_of_metrics_is_neither_a_loader_nor_a_list_of_losses(run):
    """They are gone through and called."""
    ran = run(
        "names = [m.__name__ for m in metric_fns]\n"
        + HEAD
        + STEP
        + "    for met in metric_fns:\n        tracker.update(met.__name__, met(model(x), y))\n"
    )

    assert (ran.error, ran.steps) == (None, 14), ran.message


def test_a_metric_that_is_given_outputs_and_dropped_is_no_loss(run):
    """Whatever it is called, nothing goes back from it."""
    ran = run(
        HEAD + STEP + "    evaluator.add_batch(predictions=model(x), references=y)\n"
        "    completed_steps += 1\n    if completed_steps >= args.max_train_steps:\n"
        "        print('enough')\n"
    )

    assert (ran.error, ran.steps) == (None, 14), ran.message


def test_one_function_may_make_different_things(run):
    """``instantiate`` makes whatever its settings say."""
    ran = run(
        "def train(cfg):\n    net = hydra.utils.instantiate(cfg.model)\n"
        "    opt = hydra.utils.instantiate(cfg.optimizer, params=net.parameters())\n"
        "    for x, y in train_loader:\n        opt.zero_grad()\n"
        "        criterion(net(x), y).backward()\n        opt.step()\n"
        "    result.append([id(p) for p in net.parameters()]\n"
        "                  == [id(p) for g in opt.param_groups for p in g['params']])\n"
        "result = []\n"
    )

    assert (ran.error, ran.steps, ran.result) == (None, 14, "[True]"), ran.message


def test_a_number_among_the_settings_stays_one(run):
    """Also where nobody shows who takes it."""
    ran = run(HEAD + STEP + "    tracker.note(args.max_grad_norm)\nresult = args.max_grad_norm\n")

    assert (ran.error, ran.result) == (None, "1.0"), ran.message


def test_classes_that_are_predicted_equal_no_numbers(run):
    """A figure that fits no numbers ended a program that trains."""
    ran = run(
        "correct = 0\n"
        + HEAD
        + STEP
        + "    preds = model(x).argmax(dim=1)\n    correct += (preds == y).sum().item()\n"
        "result = correct\n"
    )

    assert (ran.error, ran.result) == (None, "0"), ran.message


def test_comparisons_that_are_possible_stay_what_they_are(run):
    """Whatever their shapes are."""
    ran = run(
        "ids = torch.arange(3)\nresult = (ids[:, None] == ids[None, :]).sum().item(), 'a' == 'a'\n"
        + HEAD
        + STEP
    )

    assert ran.result == "(3, True)"


def test_a_loss_may_be_given_the_inputs_too(run):
    """As one that distils is; ours does not look at them."""
    ran = run(HEAD + STEP.replace("criterion(model(x), y)", "criterion(x, model(x), y)"))
    plain = run(HEAD + STEP)

    assert (ran.error, ran.weights) == (None, plain.weights), ran.message

"""A name that is in no table is found out by its first use, and the program begins anew with it."""

import pytest

LOOP = """
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("name", "other"),
    [("model", "quux"), ("train_loader", "zorp"), ("criterion", "flam"), ("optimizer", "blip")],
)
def test_an_unknown_object_is_told_by_its_first_use(run, name, other):
    program = LOOP.replace(name, other).replace("blip.zero_grad()", "blip.param_groups")

    ran = run(program)

    assert (ran.outcome, ran.steps) == ("ran", 14)


def test_all_names_of_a_loop_may_be_unknown(run):
    program = """
for a, b in zorp:
    loss = flam(quux(a), b)
    loss.backward()
    blip.step()
    blip.zero_grad()
"""

    assert run(program).steps == 14


def test_a_number_that_divides_a_loss_counts_micro_batches(run):
    ran = run(LOOP.replace("loss.backward()", "(loss / qq).backward()") + "result = qq")

    assert ran.result == "4"


def test_a_function_that_gets_the_model_and_is_not_shown_cannot_be_known(run):
    """What it does to gradients may be all that a program is about."""
    ran = run(LOOP.replace("    optimizer.step()", "    mystery(model)\n    optimizer.step()"))

    assert ran.outcome == "Unbound: `mystery` is used in no way that tells what it is"


@pytest.mark.full
def test_a_function_that_gets_figures_alone_does_nothing(run):
    assert run(LOOP + "    mystery(1, loss=0.5)\n").outcome == "ran"


@pytest.mark.full
def test_a_name_that_is_read_before_it_is_bound_is_the_readers(run):
    """The inner loop of a trainer that fetches one batch ahead."""
    program = """
for micro_step in range(accum):
    logits, loss = model(X, Y)
    X, Y = get_batch("train")
    (loss / accum).backward()
optimizer.step()
optimizer.zero_grad()
"""

    ran = run(program)

    assert (ran.outcome, ran.steps) == ("ran", 4)
    assert "written for one update: repeated for the whole of the data" in ran.notes


def test_what_steps_beside_an_optimizer_and_a_schedule_may_be_anything(run):
    ran = run(LOOP + "    scheduler.step()\n    mystery.step()\n")

    assert ran.outcome == "Unbound: `mystery` is used in no way that tells what it is"


@pytest.mark.full
def test_a_name_in_which_a_fragment_counts_starts_at_zero(run):
    ran = run(LOOP + "    running_loss += loss.item()\n    seen += 1\nresult = seen")

    assert ran.result == "14"


@pytest.mark.full
def test_a_meter_with_the_name_of_a_loss_is_none(run):
    assert run(LOOP + "    losses.update(loss.item(), x.size(0))\n").outcome == "ran"


@pytest.mark.full
def test_a_name_that_is_called_is_no_number(run):
    program = LOOP + "    lr = get_lr(3)\n    optimizer.param_groups[0]['lr'] = lr\n"

    assert run(program).outcome == "ran"


def test_settings_may_have_the_name_of_an_optimizer(run):
    assert run("print(opt.n_critic, opt.batch_size)\n" + LOOP).outcome == "ran"


def test_settings_that_torch_is_given_by_keyword_are_refused_by_torch(run):
    ran = run("torch.sum(input=cfg)\n" + LOOP)

    assert "must be Tensor, not LentSettings" in ran.outcome


def test_a_loader_that_is_drawn_from_is_an_iterator(run):
    program = """
for step in range(10):
    x, y = next(train_iter)
    criterion(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
"""

    assert run(program).steps == 10


def test_a_meter_of_an_unknown_class_does_nothing(run):
    ran = run("meter = Metrik(every=0)\n" + LOOP + "    meter.update(loss.item())\n")

    assert (ran.outcome, ran.steps) == ("ran", 14)


def test_a_logger_that_goes_through_a_loader_yields_its_batches(run):
    ran = run(LOOP.replace("in train_loader", "in metric_logger.log_every(train_loader, 10)"))

    assert (ran.outcome, ran.steps) == ("ran", 14)


def test_losses_that_are_read_as_a_mapping_are_one(run):
    program = LOOP.replace("loss = crit", "loss_dict = crit").replace(
        "loss.backward()", "sum(loss_dict[k] for k in loss_dict.keys()).backward()"
    )

    assert run(program).steps == 14


@pytest.mark.full
def test_a_text_with_the_name_of_a_function_does_not_call_it(run):
    program = "def train(loaders):\n    train_loader = loaders['train']\n"

    assert run(program + LOOP.replace("\n", "\n    ")).steps == 14

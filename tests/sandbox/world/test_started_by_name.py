"""Training that is defined and never started is started, with what its parameters are called."""

STEP = """
def step(model, x, y, optimizer, criterion):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()
"""


def test_a_step_is_called_with_every_batch(run):
    ran = run(STEP)

    assert (ran.outcome, ran.steps) == ("ran", 14)
    assert ran.calls == ["step(model, x, y, optimizer, criterion)"]


def test_a_class_is_made_and_its_training_is_called(run):
    program = """
class Trainer:
    def __init__(self, net, loader, opt, loss_fn):
        self.net, self.loader, self.opt, self.loss_fn = net, loader, opt, loss_fn

    def fit(self):
        for x, y in self.loader:
            self.opt.zero_grad()
            self.loss_fn(self.net(x), y).backward()
            self.opt.step()
"""

    assert run(program).steps == 14


def test_settings_that_nobody_shows_are_what_their_names_mean(run):
    program = """
optimizer = torch.optim.SGD(model.parameters(), lr=cfg.optim.lr)
for epoch in range(cfg.epochs):
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / cfg.accum_steps).backward()
        if (i + 1) % cfg.accum_steps == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_norm"])
            optimizer.step()
            optimizer.zero_grad()
result = cfg.accum_steps
"""

    ran = run(program)

    assert (ran.outcome, ran.result, ran.steps) == ("ran", "4", 6)


def test_code_that_only_looks_at_gradients_is_run_for_every_batch(run):
    """Somebody else computes them: the loop around it goes backward and steps."""
    ran = run("for p in model.parameters():\n    print(p.grad.norm())")

    assert (ran.outcome, ran.steps) == ("ran", 14)

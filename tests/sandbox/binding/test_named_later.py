"""Methods that are called by a name that the program computes."""

import pytest

CLASS = """
class Engine:
    def train_batch(self, batch):
        x, y = batch
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

    def eval_batch(self, batch):
        x, y = batch
        with torch.no_grad():
            criterion(model(x), y)
"""

PROGRAMS = {
    "by the name itself": """
    def run(self, phase, loader):
        for batch in loader:
            getattr(self, phase)(batch)

Engine().run("train_batch", train_loader)
""",
    "with an ending": """
    def run(self, phase, loader):
        for batch in loader:
            getattr(self, f"{phase}_batch")(batch)

engine = Engine()
engine.run("train", train_loader)
engine.run("eval", val_loader)
""",
    "started by nobody": """
    def run(self, phase, loader):
        work = getattr(self, phase + "_batch")
        for batch in loader:
            work(batch)
""",
    "from a table, started by nobody": """
    def __init__(self):
        self.handlers = {"eval": self.eval_batch, "train": self.train_batch}

    def __call__(self, phase, loader):
        for batch in loader:
            self.handlers[phase](batch)
""",
    "in turn": """
    def forward(self, state):
        x, y = state["batch"]
        state["loss"] = criterion(model(x), y)

    def backward(self, state):
        optimizer.zero_grad()
        state["loss"].backward()

    def update(self, state):
        optimizer.step()

engine = Engine()
for batch in train_loader:
    state = {"batch": batch}
    for event in ("forward", "backward", "update"):
        getattr(engine, event)(state)
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_method_is_found_by_a_name_that_is_computed(run, program):
    ran = run(CLASS + program)

    assert ran.outcome == "ran"
    assert ran.steps == 14

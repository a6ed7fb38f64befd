"""Blocks that are right, and that were once called false or not run, each by a guess of ours."""

from textwrap import dedent

import pytest

BLOCKS = {
    "what a call returns is called": """
        from collections import namedtuple
        options = namedtuple("Options", ["loss", "acc"])(loss={"a": 1}, acc={"a": 2})""",
    "a module hands out two things, each with layers of its own": """
        class Policy(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 8)
                self.action_head = nn.Linear(8, 2)
                self.value_head = nn.Linear(8, 1)

            def forward(self, x):
                x = self.body(x).relu()
                return self.action_head(x).softmax(-1), self.value_head(x)""",
    "a known set is split by how many it has": """
        from torchvision.datasets import MNIST
        train, val = random_split(MNIST(".", download=True), [55000, 5000])""",
    "a loss is left out in a loop": """
        net = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)
        for epoch in range(EPOCHS):
            ...
            optimizer.zero_grad()
            loss = ...
            loss.backward()
            optimizer.step()""",
    "a function counts classes that it got right after its step": """
        def train_once(net, batches, optimizer):
            loss = torch.nn.CrossEntropyLoss()
            right = 0
            for X, y in batches:
                y_hat = net(X)
                l = loss(y_hat, y)
                optimizer.zero_grad()
                l.backward()
                optimizer.step()
                right += (y_hat.argmax(dim=1) == y).sum().item()
            return right""",
}


@pytest.fixture(scope="module")
def found(checked, tmp_path_factory):
    """How each block ended."""
    page = tmp_path_factory.mktemp("right") / "page.md"
    blocks = (f"## {name}\n\n```python{dedent(code)}\n```\n" for name, code in BLOCKS.items())
    page.write_text("# A page\n\n" + "\n".join(blocks))
    report = checked(page)
    return {b.headings[-1]: b.parts[0] for b in report.blocks}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_right_block_runs(name, found):
    assert (found[name].status, found[name].sentence) == ("runs", found[name].sentence)

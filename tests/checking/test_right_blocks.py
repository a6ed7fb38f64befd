"""Blocks that are right, and that were once called false or not run, each by a guess of ours."""

from textwrap import dedent

import pytest

from tests.sampling import asked

BLOCKS = {
    "a step whose loss stands above": """
        loss.backward()
        if (step + 1) % args.accumulation_steps == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)""",
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
    "a loop counts classes that it got right after its step": """
        correct = 0
        for images, labels in train_dataloader:
            scores = classifier(images)
            loss = nn.CrossEntropyLoss()(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (scores.argmax(dim=1) == labels).sum().item()""",
    "a function trains beside a module of words, each row of one class": """
        class TextClassifier(nn.Module):
            def __init__(self, vocab_size, embedding_dim, hidden_dim, output_dim):
                super().__init__()
                self.embedding = nn.Embedding(vocab_size, embedding_dim)
                self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True)
                self.fc = nn.Linear(hidden_dim, output_dim)

            def forward(self, text):
                _, (hidden, cell) = self.lstm(self.embedding(text))
                return self.fc(hidden[-1])

        def train_model(model, train_loader, epochs=10):
            criterion = nn.CrossEntropyLoss()
            optimizer = torch.optim.Adam(model.parameters())
            for epoch in range(epochs):
                for batch in train_loader:
                    text, labels = batch
                    optimizer.zero_grad()
                    loss = criterion(model(text), labels)
                    loss.backward()
                    optimizer.step()""",
    "rows are laid out in the width of a known set": """
        flat = nn.Linear(784, 10)
        steps = torch.optim.SGD(flat.parameters(), lr=1e-3)
        for images, _ in dataloader:
            loss = flat(images.view(-1, 784)).square().mean()
            steps.zero_grad()
            loss.backward()
            steps.step()""",
    "training with Lightning is resumed from what an earlier run kept": """
        import lightning as L
        resumed = L.Trainer(max_epochs=2)
        resumed.fit(model, datamodule=dm, ckpt_path="checkpoints/last.ckpt")""",
    "a library has a progress bar of its own": """
        from huggingface_hub import snapshot_download""",
    "what an Accelerator steps is prepared elsewhere": """
        from accelerate import Accelerator
        accelerator = Accelerator(gradient_accumulation_steps=4)
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss = loss_fn(model(batch["inputs"]), batch["labels"])
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer_of_it.step()
                optimizer_of_it.zero_grad()""",
    "a function measures a few updates on the batch that it is handed": """
        def measure(model, batch, optimizer, turns=5):
            for turn in range(turns):
                loss = criterion(model(batch), target)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()""",
    "one update, and an evaluation after it": """
        wide = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 3))
        stepper = torch.optim.Adam(wide.parameters(), lr=1e-3)
        wide.train()
        loss = criterion(wide(inputs), targets)
        stepper.zero_grad()
        loss.backward()
        stepper.step()
        wide.eval()
        with torch.no_grad():
            logits = wide(inputs)""",
    "pictures as large as its head wants them after two pools": """
        class Pooled(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Conv2d(3, 8, 3, padding=1)
                self.second = nn.Conv2d(8, 32, 3, padding=1)
                self.head = nn.Linear(2048, 10)

            def forward(self, x):
                x = nn.functional.max_pool2d(self.first(x), 2)
                return self.head(nn.functional.max_pool2d(self.second(x), 2).flatten(1))

        pooled = Pooled()
        trainer_of_pooled = torch.optim.SGD(pooled.parameters(), lr=0.01)
        for images, labels in train_loader:
            trainer_of_pooled.zero_grad()
            nn.functional.cross_entropy(pooled(images), labels).backward()
            trainer_of_pooled.step()""",
    "an environment steps, and no optimizer": """
        import gymnasium as gym
        env = gym.make("CartPole-v1")
        state, info = env.reset()
        for _ in range(3):
            state, reward, done, truncated, info = env.step(env.action_space.sample())""",
    "an epsilon is added, of which nobody says what it is for": """
        # ✅ Add small epsilon
        loss = -torch.log(predictions + 1e-8)""",
    "an output is asked for by a number that only its reader's model has": """
        def saliency(model, image, target_class):
            image.requires_grad = True
            output = model(image)
            model.zero_grad()
            output[0, target_class].backward()
            return image.grad.abs().max(dim=1)[0]

        saliency(model, image_tensor, target_class=5)""",
    "a loss that nobody shows is given three parts of what a model returns": """
        for past, future, k in pretrain_loader:
            foretold, later, earlier = model(past, future, k)
            loss = trajectory_loss(earlier, later, foretold)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()""",
}


LAZY = "a lazy layer is moved before it has a shape"
MOVED = """
    lazy = nn.Sequential(nn.Flatten(), nn.LazyLinear(4)).to("cpu")
    lazy(torch.ones(2, 1, 3))"""


@pytest.fixture(scope="module")
def found(request, checked, tmp_path_factory):
    """How each block ended."""
    page, wanted = tmp_path_factory.mktemp("right") / "page.md", asked(request, "name")
    blocks = (
        f"## {name}\n\n```python{dedent(code)}\n```\n"
        for name, code in (*BLOCKS.items(), (LAZY, MOVED))
        if name in wanted or name == LAZY
    )
    page.write_text("# A page\n\n" + "\n".join(blocks))
    report = checked(page)
    return {b.headings[-1]: b.parts[0] for b in report.blocks}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_right_block_runs(name, found):
    part = found[name]
    runs = "runs" if part.mark is None else "holds"
    assert (part.status, part.sentence) == (runs, part.sentence)


def test_a_lazy_layer_that_is_moved_runs_and_is_no_fault(found):
    assert found[LAZY].status == "runs"


DISTILS = """
    optimizer = torch.optim.SGD(student.parameters(), lr=1e-3)
    for x, y in train_loader:
        with torch.no_grad():
            wanted = teacher(x)
        loss = F.mse_loss(student(x), wanted)
        loss.backward()
        optimizer.step()"""
SCALES = """
    from torch.amp import GradScaler, autocast
    scaler = GradScaler("cpu")
    with autocast("cpu"):
        loss = model(inputs, targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)"""


FORGETS = """
    import torch
    from torch import nn

    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(8):
        net(torch.randn(4, 4)).square().mean().backward()
        optimizer.step()"""
GAPS = """
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for x, y in val_loader:
        ..."""


def test_what_a_sketch_lacks_is_its_readers_unless_it_claims_to_be_right(checked, tmp_path):
    page = tmp_path / "page.md"
    said = ("", "", "", "✅ Correct:", "✅ Correct:")
    codes = (DISTILS, SCALES, FORGETS, DISTILS, GAPS)
    page.write_text(
        "# A\n\n"
        + "\n".join(
            f"{words}\n\n```python{dedent(code)}\n```\n"
            for words, code in zip(said, codes, strict=True)
        )
    )
    found = [block.status for block in checked(page).blocks]

    assert found == ["runs", "runs", "fault", "fails", "holds"]


ANOTHERS = """
    x = torch.tensor([0.0, 0.0], requires_grad=True)
    optimizer = torch.optim.Adam([x], lr=1e-3)"""
ROWS = """
    for rows, labels in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(rows), labels)
        loss.backward()
        optimizer.step()"""
MOMENTUM = """
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)"""


def test_an_optimizer_of_another_section_that_holds_something_else_is_not_taken(checked, tmp_path):
    page = tmp_path / "page.md"
    sections = [("A point", ANOTHERS), ("Rows", ROWS), ("Momentum", MOMENTUM)]
    page.write_text("\n".join(f"## {t}\n\n```python{dedent(c)}\n```\n" for t, c in sections))

    assert [block.status for block in checked(page).blocks] == ["runs", "runs", "runs"]

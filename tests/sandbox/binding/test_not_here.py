"""What a program takes from outside and that is not here: files, packages that start it, containers."""

import pytest

UPDATE = """
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimizer.step()
"""


def trained(clip="1.0", indent=""):
    """One pass over the data."""
    return UPDATE.replace("CLIP", clip).replace("\n", f"\n{indent}").rstrip(" ")


SETTINGS = {
    "YAML in a with": "import torch, yaml\nwith open('a.yaml') as f:\n    cfg = yaml.safe_load(f)\n"
    + trained("cfg['train']['clip']"),
    "JSON from a path": "import json, torch\nfrom pathlib import Path\n"
    "cfg = json.loads(Path('a.json').read_text())\n" + trained("cfg.get('clip', 1.0)"),
    "by a function, from an argument": """
import argparse, torch, yaml
def load_config(path):
    with open(path, "r") as handle:
        found = yaml.load(handle, Loader=yaml.FullLoader)
    return found
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    config = load_config(parser.parse_args().config)
"""
    + trained("float(config['clip'])", "    ")
    + "\nmain()\n",
    "in a wrapper": "import json, torch\nfrom types import SimpleNamespace\n"
    "cfg = SimpleNamespace(**json.load(open('a.json')))\n" + trained("cfg.clip"),
    "over a class with defaults": """
import json, torch
from dataclasses import dataclass
@dataclass
class Settings:
    clip: float = 1.0
with open("a.json") as f:
    cfg = Settings(**json.load(f))
"""
    + trained("cfg.clip"),
    "by OmegaConf": "import torch\nfrom omegaconf import OmegaConf\ncfg = OmegaConf.load('a.yaml')\n"
    + trained("cfg.train.clip"),
}

CHECKPOINTS = {
    "resumed": """
import torch
checkpoint = torch.load("runs/last.pt", map_location="cpu")
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
for epoch in range(checkpoint["epoch"] + 1, checkpoint["epoch"] + 2):
    pass
"""
    + trained()
    + "torch.save(model.state_dict(), 'runs/deep/next.pt')\n",
    "in a function": """
import torch
def resume(path):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    return state["epoch"], state["best_loss"]
start, best = resume("last.pt")
"""
    + trained(),
    "behind a guard that leaves": """
import torch
class Trainer:
    average = {}
    def resume(self, path):
        if path is None:
            return
        state = torch.load(path)
        self.average = state["average"]
Trainer().resume(None if train_loader else "last.pt")
"""
    + trained(),
    "pretrained": "import torch\nmodel.load_state_dict(torch.load('w.pth'), strict=False)\n"
    + trained(),
}

MAINS = {
    "hydra": "import hydra, torch\n@hydra.main(config_path='conf', version_base=None)\n"
    "def main(cfg):\n" + trained("cfg.train.clip", "    ") + "\nif __name__ == '__main__':\n    main()\n",
    "fire": "import fire, torch\ndef train(clip=1.0):\n" + trained("clip", "    ")
    + "\nif __name__ == '__main__':\n    fire.Fire(train)\n",
    "fire, without a default": "import fire, torch\ndef train(config):\n"
    + trained("config['clip']", "    ") + "\nfire.Fire(train)\n",
}  # fmt: skip

SEVERAL = {
    "lists": """
for x, y in train_loader:
    for opt in optimizers:
        opt.zero_grad()
    criterion(models["net"](x), y).backward()
    for opt in optimizers:
        opt.step()
    for s in schedulers:
        s.step()
""",
    "values": """
for x, y in train_loader:
    [o.zero_grad() for o in optimizers.values()]
    criterion(model(x), y).backward()
    for o in optimizers.values():
        o.step()
""",
    "items of dictionaries": """
for x, y in train_loader:
    optimizers["main"].zero_grad()
    criterion(models["main"](x), y).backward()
    optimizers["main"].step()
    schedulers["main"].step()
""",
}

PROGRAMS = {**SETTINGS, **CHECKPOINTS, **MAINS, **SEVERAL}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_a_program_runs_without_what_its_author_has(run, program):
    """One update a batch: nothing is stepped twice, and nothing is left out."""
    ran = run(program)

    assert (ran.outcome, ran.steps, ran.batches) == ("ran", 14, {"train": 14})


def test_what_a_program_wrote_itself_is_read(run):
    """It is here."""
    ran = run(
        "import json, torch\njson.dump({'clip': 0.5}, open('a.json', 'w'))\n"
        "cfg = json.load(open('a.json'))\nresult = cfg['clip']\n" + trained("cfg['clip']")
    )

    assert (ran.outcome, ran.result) == ("ran", "0.5")


def test_a_figure_that_nobody_knows_may_be_compared(run):
    """``losses.avg < best`` raised."""
    ran = run(
        "from utils import AverageMeter\nlosses, best = AverageMeter(), 9.9\n"
        "import torch\n" + trained() + "    losses.update(1.0, len(x))\n"
        "if losses.avg < best:\n    best = losses.avg\n"
    )

    assert (ran.outcome, ran.steps) == ("ran", 14)


def test_a_package_that_only_measures_does_nothing(run):
    """What it imports in turn need not be readable: its import raised."""
    ran = run(
        "import torch\nimport torchmetrics\nmean, best = torchmetrics.MeanMetric(), 0.0\n"
        + trained()
        + "    mean.update(1.0)\nif mean.compute() > best:\n    print(f'{mean.compute():.3f}')\n",
        absent=["torchmetrics"],
    )

    assert (ran.outcome, ran.steps) == ("ran", 14)
    assert "torchmetrics: inert" in ran.notes

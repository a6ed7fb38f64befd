"""What a file holds that is not here is what the program does with it."""

import pytest

from tests.sampling import sampled

START = """
import csv, glob, json, os, pickle, sys
import numpy as np
import torch
from torch import nn

def train(x, y, net, loss=nn.functional.cross_entropy):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for a, b in zip(x.split(16), y.split(16)):
        optimizer.zero_grad()
        loss(net(a), b).backward()
        optimizer.step()
"""

FORMS = {
    "batches that all rows do not fill": """
import pandas as pd
from torch.utils.data import DataLoader, TensorDataset
df = pd.read_csv("visits.csv")
y = torch.tensor(df["label"].to_numpy())
rows = TensorDataset(torch.randn(len(y), 4), y)
net = nn.Linear(4, 2)
for a, b in DataLoader(rows, batch_size=50_000, drop_last=True):
    train(a, b, net)
""",
    "pictures of as many patches as there are places": """
'slides.npz holds images (N, H, W, 3)'
held = np.load("slides.npz")
x = torch.from_numpy(held["images"]).permute(0, 3, 1, 2).float()[:64]
cut = nn.Conv2d(3, 4, 8, 8)
places = nn.Parameter(torch.zeros(1, 144 + 1, 4))
tokens = cut(x).flatten(2).transpose(1, 2)
first = (torch.cat([tokens[:, :1], tokens], 1) + places)[:, 0].detach()
train(first, torch.zeros(64).long(), nn.Linear(4, 2))
""",
    "pictures in folders of classes": """
from pathlib import Path
from PIL import Image
names = sorted(p.name for p in Path("leaves/train").iterdir() if p.is_dir())
found = [(f, n) for n, name in enumerate(names) for f in sorted((Path("leaves/val") / name).glob("*"))]
assert names and all(f.suffix == ".png" for f, _ in found), found[:3]
x = torch.stack([torch.from_numpy(np.array(Image.open(f))).float().mean((0, 1)) for f, _ in found[:64]])
train(x, torch.tensor([n for _, n in found[:64]]), nn.Linear(3, len(names)))
""",
    "masks in a folder of that name": """
from PIL import Image
masks = [np.array(Image.open(f"roads/labels/{n}.png")) for n in range(64)]
high, wide = masks[0].shape
y = torch.tensor([int(mask[0, 0]) for mask in masks])
train(torch.randn(64, 4), y, nn.Linear(4, 2))
""",
    "windows that are longer than usual": """
'flow.npz holds flow (T, N)'
held = np.load("roads/flow.npz")["flow"].astype(np.float32)
long = 512
starts = torch.randint(0, len(held) - long, (64,))
x = torch.stack([torch.from_numpy(held[s : s + long]).flatten()[:4] for s in starts])
train(x, torch.zeros(64).long(), nn.Linear(4, 2))
""",
    "crops of signals of one length": """
held = np.load("beats/leads.npy", mmap_mode="r")
room = held[0].shape[1] - 1024
starts = torch.randint(0, room + 1, (len(held),))
x = torch.stack([torch.tensor(held[n][0, s : s + 4]) for n, s in enumerate(starts)])
train(x, torch.randn(len(x), 2), nn.Linear(4, 2), nn.functional.mse_loss)
""",
    "a file that the command line names": """
assert len(sys.argv) == 1
rows = [json.loads(line) for line in open(sys.argv[1])]
y = torch.tensor([int(row["label"]) for row in rows])
train(torch.randn(len(rows), 4), y, nn.Linear(4, 2))
""",
    "columns that begin alike": """
import pandas as pd
df = pd.read_parquet("shop.parquet")
names = sorted(c for c in df.columns if c.startswith("n_"))
x = torch.tensor(df[names].to_numpy(np.float32))
assert x.shape[1] > 1
train(x, torch.zeros(len(x)).long(), nn.Linear(x.shape[1], 2))
""",
    "answers of which only the beginning counts": """
rows = [json.loads(line) for line in open("talk/train.jsonl")]
cut = [(row["prompt"].encode(), row["response"].encode()) for row in rows]
left = [list((a + b)[len(a) : 16]) for a, b in cut]
left = [one for one in left if one]
assert len(rows) // len(left) < 20
train(torch.randn(len(left), 4), torch.zeros(len(left)).long(), nn.Linear(4, 2))
""",
    "rows in an object, of which a part is taken": """
held = json.load(open("food/manifest.json"))
rows = [row for row in held["samples"] if row["split"] == "train"]
assert rows and len(rows) < len(held["samples"])
names = held["classes"]
y = torch.tensor([names.index(row["category"]) for row in rows])
train(torch.randn(len(rows), 4), y, nn.Linear(4, len(names)))
""",
    "boxes of pictures by number": """
held = json.load(open("boxes/instances.json"))
pictures = {picture["id"]: picture for picture in held["images"]}
of = {}
for one in held["annotations"]:
    if not one.get("crowd", 0):
        of.setdefault(one["image_id"], []).append(one["bbox"])
places = []
for number, boxes in of.items():
    left, top, wide, high = max(boxes, key=lambda box: box[2])
    places.append([left / pictures[number]["width"], top / pictures[number]["height"]])
y = torch.tensor(places)
train(torch.randn(len(y), 4), y, nn.Linear(4, 2), nn.functional.mse_loss)
""",
    "a vocabulary and rows of words": """
numbers = json.load(open("words/vocab.json"))
rows = [json.loads(line) for line in open("words/train.jsonl")]
lines = [[numbers.get(word, numbers["<unk>"]) for word in row["utterance"].split()][:2] for row in rows]
x = torch.tensor([line for line in lines if len(line) == 2])
train(x, torch.zeros(len(x)).long(), nn.Sequential(nn.Embedding(len(numbers), 2), nn.Flatten()))
""",
    "two mappings in one file": """
with open("songs/dictionary.pkl", "rb") as file:
    number_of, name_of = pickle.load(file)
with open("songs/train.pkl", "rb") as file:
    songs = pickle.load(file)
x = torch.stack([torch.tensor([number_of[e] for e in s["events"]][:4]) for s in songs])
train(x, torch.zeros(len(x)).long(), nn.Sequential(nn.Embedding(len(number_of), 2), nn.Flatten()))
""",
    "a dictionary of tensors": """
held = torch.load("rows/train.pt")
train(held["x"].float(), held["labels"].long(), nn.Linear(held["x"].shape[1], 2))
""",
    "names and their numbers, then triples of names": """
def numbers(file):
    found = {}
    for line in open(file):
        name, number = line.strip().split("\\t")
        found[name] = int(number)
    return found
things, links = numbers("graph/entities.txt"), numbers("graph/relations.txt")
rows = []
for line in open("graph/train.txt"):
    head, link, tail = line.strip().split("\\t")
    rows.append((things[head], links[link], things[tail]))
x = torch.tensor(rows)
train(x, x[:, 1] % 2, nn.Sequential(nn.Embedding(len(things), 2), nn.Flatten(), nn.Linear(6, 2)))
""",
    "files that a row names": """
rows = json.load(open("sounds/train.json"))
x = torch.stack([torch.from_numpy(np.load("sounds/" + row["features"])) for row in rows[:64]])
train(x.flatten(1), torch.zeros(64).long(), nn.Linear(x[0].numel(), 2))
""",
    "pairs of words under a pattern of names": """
files = sorted(glob.glob("shards/part-*.jsonl"))
assert files, "no shards"
rows = [json.loads(line) for file in files for line in open(file)]
y = torch.tensor([int(row["label"]) for row in rows])
train(torch.randn(len(rows), 4), y, nn.Linear(4, 2))
""",
    "a file after which the program asks": """
if not os.path.exists("rows/train.dat"):
    sys.exit("run prepare.py first")
x = torch.tensor([[float(part) for part in line.split()] for line in open("rows/train.dat")])
train(x, torch.zeros(len(x)).long(), nn.Linear(x.shape[1], 2))
""",
}


@pytest.mark.parametrize("case", sampled(FORMS, 6))
def test_what_is_lent_has_the_form_in_which_it_is_used(see, case):
    seen = see(START + FORMS[case])

    assert seen.outcome.startswith(("returned: None", "exited: stopped by the harness")), (
        seen.outcome
    )
    assert len(seen.windows) >= 4
    assert "use" in seen.lent or "by chance" in seen.lent


REFUSED = """
held = json.load(open("rows/meta.json"))
assert held["version"] == 3 and held["checksum"] == hash("x"), "another version of the data"
train(torch.randn(64, 4), torch.zeros(64).long(), nn.Linear(4, 2))
"""


def test_a_program_that_refuses_what_was_lent_is_told_that_its_file_is_missing(see):
    outcome = see(START + REFUSED).outcome

    assert outcome.startswith("unbound: `meta.json` is a file that is not here, and")


FALLS_BACK = """
try:
    x = torch.tensor(pickle.load(open("cache/rows.pkl", "rb")))
except FileNotFoundError:
    x = torch.randn(64, 4)
train(x, torch.zeros(64).long(), nn.Linear(4, 2))
"""


def test_a_file_without_which_a_program_goes_on_is_not_lent(see):
    seen = see(START + FALLS_BACK)

    assert seen.outcome == "returned: None"
    assert "rows.pkl" not in seen.lent

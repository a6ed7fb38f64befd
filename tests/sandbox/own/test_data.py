"""Data that are not here: tables, arrays and pictures by chance, where the program shows their form."""

from importlib.util import find_spec

import pytest

from tests.sampling import sampled

TRAIN = """
import csv, json, os
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def train(x, y, net, loss=nn.functional.cross_entropy):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for a, b in DataLoader(TensorDataset(x, y), batch_size=128):
        optimizer.zero_grad()
        loss(net(a), b).backward()
        optimizer.step()
"""

FRAMES = {
    "columns that are named": """
df = pd.read_csv("rows/train.csv").drop(columns=["Id"])
y = torch.tensor(df.pop("label").values)
x = torch.tensor(df[["a", "price"]].values, dtype=torch.float32)
train(x, y, nn.Linear(2, 2))
""",
    "all columns but one": """
df = pd.read_csv("rows/train.csv")
x = torch.tensor(df.iloc[:, :-1].values, dtype=torch.float32)
train(x, torch.tensor(df.iloc[:, -1].values).long(), nn.Linear(x.shape[1], 2))
""",
    "columns of which the model says how many there are": """
df = pd.read_csv("rows/train.csv")
x = torch.tensor(df.filter(like="emb_").values, dtype=torch.float32)
train(x, torch.tensor(df["kind"].values), nn.Linear(512, 5))
""",
    "a column that only its use names": """
TARGET = "quality".upper()
df = pd.read_csv("rows/train.csv")
y = torch.tensor(df[TARGET].values)
train(torch.tensor(df.drop(columns=TARGET).values, dtype=torch.float32), y, nn.Linear(8, 2))
""",
    "dates as an index": """
df = pd.read_csv("rows/train.csv", parse_dates=["date"], index_col="date").sort_index()
assert df.index.inferred_type == "datetime64"
y = torch.tensor((df["close"] > df["close"].mean()).values).long()
train(torch.tensor(df[["open", "high"]].values, dtype=torch.float32), y, nn.Linear(2, 2))
""",
    "some columns and some rows": """
df = pd.read_csv("rows/train.csv", usecols=["a", "label"], nrows=1800)
assert df.shape == (1800, 2)
x = torch.tensor(df[["a"]].values, dtype=torch.float32)
train(x, torch.tensor(df["label"].values), nn.Linear(1, 2))
""",
    "words that the program turns into numbers": """
df = pd.read_csv("rows/train.csv")
df["sex"] = df["sex"].map({"male": 0, "female": 1})
assert not df.isna().any().any() and df.sex.nunique() == 2
train(torch.randn(len(df), 3), torch.tensor(df["sex"].values), nn.Linear(3, 2))
""",
}


@pytest.mark.skipif(not find_spec("pandas"), reason="a package of the extra dev")
@pytest.mark.parametrize("case", sampled(FRAMES, 4))
def test_a_table_has_the_columns_that_the_program_asks_for(see, case):
    seen = see(TRAIN + "import pandas as pd\n" + FRAMES[case])

    assert seen.outcome == "returned: None"
    assert len(seen.windows) >= 12
    assert "train.csv: a table by chance" in seen.lent


ARRAYS = {
    "np.loadtxt": """
a = np.loadtxt("rows/train.csv", delimiter=",", dtype=np.float32)
train(torch.from_numpy(a[:, :-1]), torch.from_numpy(a[:, -1]).long(), nn.Linear(a.shape[1] - 1, 2))
""",
    "np.load": """
x, y = (np.load(f"rows/{name}_train.npy") for name in "xy")
train(torch.from_numpy(x), torch.from_numpy(y), nn.Linear(20, 2))
""",
    "tokens": """
tokens = np.load("rows/train.npy", mmap_mode="r")
x = torch.from_numpy(tokens[:2001].astype(np.int64))
train(x[:-1], x[1:], nn.Embedding(64, 64))
""",
    "a series": """
series = torch.from_numpy(np.load("rows/load.npy").astype("float32"))
windows = series[:, 0].unfold(0, 25, 1)
train(windows[:, :24], windows[:, 24:], nn.Linear(24, 1), nn.functional.mse_loss)
""",
    "pictures": """
x = torch.from_numpy(np.load("rows/images.npy")).permute(0, 3, 1, 2).float().flatten(1) / 255
train(x, torch.from_numpy(np.load("rows/labels.npy")), nn.Linear(3 * 32 * 32, 2))
""",
    "gray pictures": """
x = torch.from_numpy(np.load("rows/images.npy"))[:, None].float() / 255
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
train(x, torch.from_numpy(np.load("rows/labels.npy")), net)
""",
    "gray pictures of another size under any name": """
x = torch.from_numpy(np.load("rows/digits.npy")).unsqueeze(1).float() / 255
net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.Flatten(), nn.Linear(4 * 28 * 28, 2))
train(x, torch.from_numpy(np.load("rows/digits_y.npy")), net)
""",
    "pictures with channels before them": """
x = torch.from_numpy(np.load("rows/x.npy")).float() / 255
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
train(x, torch.from_numpy(np.load("rows/y.npy")), net)
""",
    "rows that are used as pictures": """
x = torch.from_numpy(np.load("rows/x.npy").transpose(0, 3, 1, 2)).float().flatten(1)
train(x, torch.from_numpy(np.load("rows/y.npy")), nn.Linear(3 * 32 * 32, 2))
""",
    "an array whose shape a text tells": """
PLACE = "rows/pulses.npy (N, 3, 20) float32, rows/kinds.npy [N]"
x = torch.from_numpy(np.load("rows/pulses.npy")).flatten(1)
train(x, torch.from_numpy(np.load("rows/kinds.npy").round()).clamp(0, 1).long(), nn.Linear(60, 2))
""",
    "an archive without an ending": """
archive = np.load("rows")
train(torch.from_numpy(archive["X"]), torch.from_numpy(archive["y"]), nn.Linear(8, 2))
""",
    "an archive whose names begin alike": """
archive = np.load("rows.npz")
names = [name for name in archive.files if name.startswith("cls_")]
train(torch.from_numpy(archive["x"]), torch.from_numpy(archive[names[0]]), nn.Linear(8, 2))
""",
    "a picture and its mask for each sample": """
class Slices(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        with np.load(f"rows/{i}.npz") as z:
            return z["image"].astype("float32")[None] / 255, z["mask"].astype("float32")[None]
net = nn.Conv2d(1, 1, 3, padding=1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for x, y in torch.utils.data.DataLoader(Slices(), batch_size=4):
    optimizer.zero_grad()
    nn.functional.binary_cross_entropy_with_logits(net(x), y).backward()
    optimizer.step()
""",
    "an object on each line": """
with open("rows/reviews.jsonl") as f:
    rows = [json.loads(line.strip()) for line in f]
x = torch.tensor([[len(r["text"]), r["text"].count("a")] for r in rows], dtype=torch.float32)
train(x, torch.tensor([int(r["stars"]) - 1 for r in rows]), nn.Linear(2, 5))
""",
    "csv.DictReader": """
with open("rows/train.csv") as f:
    rows = [(int(r["user_id"]), float(r["rating"])) for r in csv.DictReader(f)]
x, y = (torch.tensor(column) for column in zip(*rows))
train(x, y, nn.Sequential(nn.Embedding(64, 1), nn.Flatten(0)), nn.functional.mse_loss)
""",
    "csv.reader": """
rows = [[float(v) for v in row] for row in csv.reader(open("rows/train.csv"))]
x = torch.tensor(rows)
train(x[:, 1:], x[:, :1], nn.Linear(x.shape[1] - 1, 1), nn.functional.mse_loss)
""",
}


@pytest.mark.parametrize("case", sampled(ARRAYS, 4))
def test_arrays_and_lines_of_a_table_are_lent(see, case):
    seen = see(TRAIN + ARRAYS[case])

    assert seen.outcome == "returned: None"
    assert len(seen.windows) >= 12
    assert "by chance" in seen.lent


FIT = "\ntrain(torch.randn(9, 4), torch.zeros(9).long(), nn.Linear(4, 2))\n"

UNKNOWN = {
    "rows that are used as films": (
        "np.load('rows/x.npy').transpose(0, 4, 3, 1, 2)",
        (
            "`x.npy` is a file that is not here, and what was lent by chance does not fit (axes don't "
            "match array)"
        ),
    ),
}


@pytest.mark.parametrize("case", sampled(UNKNOWN, 3))
def test_data_whose_form_nothing_shows_are_named(see, case):
    program, said = UNKNOWN[case]

    assert see(TRAIN + program + FIT).outcome == f"unbound: {said}"


def test_a_backward_that_fails_fails_whatever_the_data(see):
    twice = "\nloss = net(x).sum()\nloss.backward()\nloss.backward()\n"
    program = (
        TRAIN
        + "x = torch.from_numpy(np.load('x.npy'))\nnet = nn.Sequential(nn.Linear(8, 2), nn.ReLU())"
    )

    assert see(program + twice).outcome.startswith("raised: Trying to backward through the graph")


PICTURES = """
import glob, os
from pathlib import Path
from PIL import Image
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, files, kinds):
        self.rows = list(zip(files, kinds))
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        file, kind = self.rows[i]
        shown = np.asarray(Image.open(file).convert("RGB").resize((8, 8)))
        return torch.from_numpy(shown / 255.0).float().flatten(), kind

def train(files, kinds):
    net = nn.Linear(192, 64)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x, y in DataLoader(Rows(files, kinds), batch_size=128):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
"""

FOLDERS = {
    "glob": "files = glob.glob('rows/train/*.png')\ntrain(files, [0] * len(files))",
    "Path.glob": "files = sorted(Path('/data/rows').glob('**/*'))\ntrain(files, [0] * len(files))",
    "Path.rglob": (
        "files = [p for p in Path('rows').rglob('*') if p.suffix.lower() in {'.jpg', '.png'}]\n"
        "train(files, [0] * len(files))"
    ),
    "os.listdir": (
        "names = [n for n in os.listdir('rows') if n.endswith('.jpeg')]\n"
        "kinds = [int(n.rpartition('_')[2][:-5]) % 2 for n in names]\n"
        "train([os.path.join('rows', n) for n in names], kinds)"
    ),
    "folders of a folder": (
        "folders = sorted(d for d in Path('rows').iterdir() if d.is_dir())\n"
        "rows = [(f, n) for n, d in enumerate(folders) for f in d.glob('*.jpg')]\n"
        "assert len(folders) > 1\n"
        "train(*zip(*rows))"
    ),
    "os.walk": (
        "files = [os.path.join(at, n) for at, _, names in os.walk('/rows') for n in names]\n"
        "train(files, [0] * len(files))"
    ),
    "masks": (
        "names = [os.path.splitext(n)[0] for n in os.listdir('images')][:300]\n"
        "masks = [np.asarray(Image.open(next(Path('masks').glob(n + '_mask.*')))) for n in names]\n"
        "assert {*np.unique(masks[0])} == {0, 1}\n"
        "train([f'images/{n}.jpg' for n in names], [int(m[0, 0]) for m in masks])"
    ),
    "folders whose names are numbers": (
        "rows = [(f, int(d)) for d in os.listdir('rows')\n"
        "        for f in glob.glob(os.path.join('rows', d, '*.{}'.format('png')))]\n"
        "assert np.asarray(Image.open(rows[0][0])).ndim == 3\n"
        "train(*zip(*[(f, n % 2) for f, n in rows]))"
    ),
    "pictures without colours": (
        "pixels = np.array(Image.open(glob.glob('rows/*.png')[0]))\n"
        "nn.Conv2d(1, 2, 3)(torch.as_tensor(pixels).float().reshape(*pixels.shape[:2], -1)"
        ".permute(2, 0, 1)[None])\n"
        "train(glob.glob('rows/*.png'), [0] * 2000)"
    ),
    "names of a table": "train([f'rows/{n}.png' for n in range(2000)], [0] * 2000)",
}


@pytest.mark.parametrize("case", sampled(FOLDERS, 4))
def test_pictures_of_a_folder_that_is_not_here_are_lent(see, case):
    pytest.importorskip("PIL.Image")
    seen = see(PICTURES + FOLDERS[case])

    assert seen.outcome.partition(":")[0] in ("returned", "exited"), seen.outcome
    assert len(seen.windows) >= 3
    assert "by chance" in seen.lent


FEW = "files = ['a.png'] * 8\ntrain(files, [0] * len(files))\n"


def test_a_folder_that_the_program_writes_is_what_it_wrote(see):
    pytest.importorskip("PIL.Image")
    program = """
os.makedirs("rows")
assert os.listdir("rows") == []
Image.new("RGB", (9, 9)).save("rows/a.png")
assert os.listdir("rows") == ["a.png"]
assert not [*Path("checkpoints").glob("*")]
"""
    assert see(PICTURES + program + FEW).outcome == "returned: None"


def test_of_files_of_something_else_there_are_names(see):
    program = "files = glob.glob('rows/scan*.dcm')\nassert len(files) > 1\nopen(files[0]).read()\n"

    assert see(PICTURES + program + FEW).outcome == "returned: None"


LINES = {
    "pairs": "rows = [s for line in f.read().strip().split('\\n') for s in [line.split('\\t')]]",
    "three parts, one a number": (
        "rows = []\n"
        "for line in f:\n"
        "    question, answer, label = line.strip().split('|')\n"
        "    rows.append((question, int(label)))"
    ),
    "parts by their places": (
        "rows = []\n"
        "for line in f:\n"
        "    parts = line.split(';')\n"
        "    rows.append((float(parts[0]), parts[2]))"
    ),
}


@pytest.mark.parametrize("case", sampled(LINES, 4))
def test_lines_of_a_text_have_the_parts_that_the_program_splits_them_into(see, case):
    program = f"f = open('rows.txt')\n{LINES[case]}\nassert {{len(row) for row in rows}} == {{2}}"
    seen = see(TRAIN + program + FIT)

    assert seen.outcome == "returned: None"
    assert "rows.txt: a text by chance" in seen.lent


def test_a_log_lies_wherever_the_program_wants_it(see):
    program = "import logging\nlogging.basicConfig(filename='runs/one/training.log')\n"

    assert see(TRAIN + program + FIT).outcome == "returned: None"


def test_a_file_without_an_ending_that_is_opened_as_a_text_is_one(see):
    """``--data`` of a command line names a file; what is lent for it has no ending."""
    opened = "import sys, argparse\nparser = argparse.ArgumentParser()\n"
    opened += "parser.add_argument('--data', required=True)\n"
    opened += "text = open(parser.parse_args().data).read()\nassert len(text) > 1000\n"
    seen = see(TRAIN + opened + FIT)

    assert seen.outcome == "returned: None"
    assert "data: a text by chance" in seen.lent


PAIRS = """
rows = [line.rstrip("\\n").split("\\t") for line in open("pairs.tsv")]
assert {len(row) for row in rows} == {2}
assert len({len(row[1].split()) for row in rows}) > 4
"""


def test_pairs_of_sentences_that_are_not_here_have_different_lengths(see):
    seen = see(TRAIN + PAIRS + FIT)

    assert seen.outcome.startswith("returned"), seen.outcome
    assert "pairs.tsv: a text by chance" in seen.lent


GRAPH = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 2))
    def forward(self, edges, x):
        return torch.sparse.mm(edges, x @ self.weight)
torch.manual_seed(0)
net, x = Net(), torch.randn(300, 6)
edges = torch.eye(300).to_sparse_coo()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    optimizer.zero_grad()
    net(edges, x).square().mean().backward()
    optimizer.step()
"""


def test_a_sparse_matrix_may_enter_a_model(see):
    seen = see(GRAPH)

    assert seen.windows == [1] * 6, seen.outcome


ROWS = """
import argparse, csv, glob, json, sys, wave
import numpy as np
import torch
from torch import nn
def fit(x, y):
    x, y = torch.as_tensor(x).float(), torch.as_tensor(y).long()
    net = nn.Linear(x.shape[1], int(y.max()) + 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for n in range(4):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x[n * 8 : n * 8 + 8]), y[n * 8 : n * 8 + 8]).backward()
        optimizer.step()
parser = argparse.ArgumentParser()
"""
FILES = {
    "rows of json in a file whose name tells nothing": """
parser.add_argument("--train", required=True)
with open(parser.parse_args().train) as file:
    rows = [json.loads(line) for line in file]
fit([[len(r["text"]), r["label"]] for r in rows], [r["label"] for r in rows])
""",
    "words with a tag each": """
sentences, tags = [[]], []
for line in open("train.conll.txt"):
    if not line.strip():
        sentences.append([])
        continue
    parts = line.split()
    sentences[-1].append(parts[0])
    tags.append(parts[-1])
assert len(sentences) > 9 and len({*tags}) > 1
fit([[len(t), t == "O"] for t in tags], [t == "O" for t in tags])
""",
    "an archive of arrays": """
with np.load("rows.npz") as archive:
    fit(archive["x"], archive["y"])
""",
    "sounds that a table names": """
with open("sounds.csv") as file:
    rows = [(r["path"], int(r["label"])) for r in csv.DictReader(file)]
def level(path):
    with wave.open(path) as sound:
        return np.frombuffer(sound.readframes(sound.getnframes()), np.int16)[:4]
fit([level(p) / 9000 for p, _ in rows[:40]], [c for _, c in rows[:40]])
""",
    "archives of a folder": """
parser.add_argument("--train-dir", required=True)
found = sorted(glob.glob(parser.parse_args().train_dir + "/*.npz"))
assert len(found) > 40
fit(np.load(found[0])["x"], np.load(found[0])["y"])
""",
    "a file beside a folder that is written": """
parser.add_argument("pairs", help="such as pairs.txt")
parser.add_argument("--out", required=True)
args = parser.parse_args()
import os
os.makedirs(args.out, exist_ok=True)
rows = [line.split("\t") for line in open(args.pairs)]
fit([[len(r[0]), len(r[1])] for r in rows], [len(r[0]) % 2 for r in rows])
""",
}


@pytest.mark.parametrize("case", sampled(FILES, 4))
def test_a_file_that_is_not_here_has_the_form_in_which_it_is_read(see, case):
    seen = see(ROWS + FILES[case])

    assert seen.outcome == "returned: None"
    assert seen.windows == [1, 1, 1, 1]


def test_a_pattern_of_files_is_the_one_that_the_help_gives_as_an_example(see):
    pytest.importorskip("PIL.Image")
    program = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("pattern", help="for example '/photos/**/*.png'")
files = sorted(glob.glob(parser.parse_args().pattern, recursive=True))
train(files, [0] * len(files))
"""
    seen = see(PICTURES + "import glob\n" + program)

    assert seen.outcome.partition(":")[0] in ("returned", "exited")
    assert len(seen.windows) >= 3


LOGARITHMS = """
import numpy as np
import pandas as pd
import torch
from torch import nn
table = pd.read_csv("counts.csv")
y = torch.as_tensor(table.pop("label").to_numpy()).long()
x = torch.as_tensor(np.log1p(table.to_numpy(np.float32)))
assert torch.isfinite(x).all()
net = nn.Linear(x.shape[1], 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for n in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
"""


def test_a_table_of_which_logarithms_are_taken_holds_nothing_negative(see):
    assert see(LOGARITHMS).outcome == "returned: None"


FILTERED = """
import numpy as np
import pandas as pd
import torch
from torch import nn
table = pd.read_csv("data/rides.csv")
table = table[(table.fare_amount > 2.5) & (table.fare_amount < 200)].reset_index(drop=True)
x = torch.as_tensor(table[["distance", "hour"]].to_numpy(np.float32))
y = torch.as_tensor(table.fare_amount.to_numpy(np.float32))
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
for n in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x).squeeze(1), y).backward()
    optimizer.step()
table.to_csv("runs/used/rows.csv")
table.plot(subplots=True)
table.fare_amount.hist()
np.save("runs/other/rows.npy", x.numpy())
"""


def test_a_table_is_filtered_by_two_conditions_and_written_to_a_new_folder(see):
    seen = see(FILTERED)

    assert seen.outcome == "returned: None"
    assert seen.windows == [1, 1, 1]


def test_a_text_from_which_nothing_comes_is_lent_longer(see):
    """As where a program cuts it into more parts than it has letters for."""
    seen = see("""
        import torch
        from torch import nn
        text = open("book.txt").read()
        ids = torch.tensor([ord(c) % 50 for c in text])
        net = nn.Embedding(50, 50)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for start in range(0, len(ids) // 30_000 * 30_000, 30_000):
            part = ids[start : start + 65]
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(part[:64]), part[1:65]).backward()
            optimizer.step()
    """)

    assert seen.windows == [1] * 6


def test_bytes_that_are_read_as_an_array_are_as_many_as_it_takes(see):
    """Also behind a header, of two files, and in rows of which nobody says how many there are."""
    program = """
import gzip
import numpy as np
import torch
from torch import nn
with gzip.open("data/rows-ubyte.gz") as file:
    x = np.frombuffer(file.read(), np.uint8)[16:].reshape(3000, 30)
with open("data/labels-ubyte", "rb") as file:
    y = np.frombuffer(file.read(), np.uint8)[8:].reshape(3000)
with open("data/more-ubyte", "rb") as file:
    assert np.frombuffer(file.read(), np.uint8)[3:].reshape(-1, 77).size
net = nn.Linear(30, 10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for rows, kinds in zip(torch.tensor(x / 255).float().split(500), torch.tensor(y).long().split(500)):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(rows), kinds).backward()
    optimizer.step()
"""
    seen = see(program)

    assert seen.windows == [1] * 6, seen.outcome

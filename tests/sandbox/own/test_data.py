"""Data that are not here: tables, arrays and pictures by chance, where the program shows their form."""

import pytest

TRAIN = """
import csv, os
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
    "words that the program turns into numbers": """
df = pd.read_csv("rows/train.csv")
df["sex"] = df["sex"].map({"male": 0, "female": 1})
assert not df.isna().any().any() and df.sex.nunique() == 2
train(torch.randn(len(df), 3), torch.tensor(df["sex"].values), nn.Linear(3, 2))
""",
    "names that are given": """
df = pd.read_csv("rows/train.csv", sep="\\t", header=None, names=["user", "item"], usecols=[0, 1])
assert [*df] == ["user", "item"]
net = nn.Sequential(nn.Embedding(df.user.max() + 1, 2))
train(torch.tensor(df.user.values), torch.tensor(df.item.values % 2), net)
""",
}


@pytest.mark.parametrize("case", FRAMES)
def test_a_table_has_the_columns_that_the_program_asks_for(see, case):
    pytest.importorskip("pandas")
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
    "an archive": """
with np.load("rows/train.npz") as d:
    x, y = d["x_train"], d["y_train"]
train(torch.from_numpy(x), torch.from_numpy(y), nn.Linear(8, 2))
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


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_and_lines_of_a_table_are_lent(see, case):
    seen = see(TRAIN + ARRAYS[case])

    assert seen.outcome == "returned: None"
    assert len(seen.windows) >= 12
    assert "by chance" in seen.lent


FIT = "\ntrain(torch.randn(9, 4), torch.zeros(9).long(), nn.Linear(4, 2))\n"

UNKNOWN = {
    "an array whose name tells nothing": ("np.load('rows/charges.npy')", "`charges.npy`"),
    "rows that are used as pictures": (
        "np.load('rows/x.npy').transpose(0, 3, 1, 2)",
        "`x.npy` does not fit as it was lent by chance (axes don't match array): it",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_data_whose_form_nothing_shows_are_named(see, case):
    program, said = UNKNOWN[case]

    assert see(TRAIN + program + FIT).outcome == f"unbound: {said} is a file that is not here"


def test_a_backward_that_fails_fails_whatever_the_data(see):
    twice = "\nloss = net(x).sum()\nloss.backward()\nloss.backward()\n"
    program = (
        TRAIN
        + "x = torch.from_numpy(np.load('x.npy'))\nnet = nn.Sequential(nn.Linear(8, 2), nn.ReLU())"
    )

    assert see(program + twice).outcome.startswith("raised: Trying to backward through the graph")

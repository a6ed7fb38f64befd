"""Character model on data/verses.txt, two gloo ranks, without DDP.

Every rank reads its own share of the lines. Gradients are flattened into one vector,
summed over the ranks and divided by the number of characters seen by all ranks, so that
an update is that of the mean loss per character of the joint batch.
"""
import os
import random
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

TEXT = Path(__file__).parent / "data" / "verses.txt"
WORLD = 2
EPOCHS = 3
PER_RANK = 10
PAD = 0


class Speller(nn.Module):
    def __init__(self, n_chars, width=48):
        super().__init__()
        self.emb = nn.Embedding(n_chars, width, padding_idx=PAD)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, n_chars)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def read_lines():
    lines = TEXT.read_text().splitlines()
    chars = sorted(set("".join(lines)))
    index = {c: i + 2 for i, c in enumerate(chars)}      # 0 = pad, 1 = newline
    return [[1] + [index[c] for c in line] + [1] for line in lines], len(chars) + 2


def collate(rows):
    width = max(map(len, rows))
    return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])


def same_start(model):
    """All ranks begin with the weights of rank 0."""
    with torch.no_grad():
        vec = parameters_to_vector(model.parameters())
        dist.broadcast(vec, src=0)
        vector_to_parameters(vec, model.parameters())


def joint_gradient(model, n_local):
    """Writes grad(sum of losses over ranks) / (characters over ranks) into .grad."""
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    flat = torch.cat([flat, flat.new_tensor([float(n_local)])])   # the count rides along
    dist.all_reduce(flat)
    flat, total = flat[:-1] / flat[-1], int(flat[-1])
    at = 0
    for p in model.parameters():
        p.grad.copy_(flat[at:at + p.numel()].view_as(p))
        at += p.numel()
    return total


def worker(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(100 + rank)          # own dropout/noise stream for each rank

    rows, n_chars = read_lines()
    model = Speller(n_chars)
    same_start(model)
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    nll = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum")

    for epoch in range(EPOCHS):
        order = list(range(len(rows)))
        random.Random(epoch).shuffle(order)             # same order everywhere
        mine = order[rank::WORLD]
        seen = heard = 0
        for k in range(0, len(mine), PER_RANK):
            ids = collate([rows[j] for j in mine[k:k + PER_RANK]])
            target = ids[:, 1:]
            loss = nll(model(ids[:, :-1]).flatten(0, 1), target.flatten())
            model.zero_grad()
            loss.backward()
            seen += joint_gradient(model, int((target != PAD).sum()))
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            opt.step()
            heard += loss.item()
        mean = torch.tensor([heard], dtype=torch.float64)
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch}  nats/char {mean.item() / seen:.4f}")

    if rank == 0:
        print("weight norm", round(parameters_to_vector(model.parameters()).norm().item(), 4))
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, args=(29611,), nprocs=WORLD)

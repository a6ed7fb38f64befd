"""Hand-written GCN for graph classification under Hugging Face Accelerate.

    accelerate launch train_gcn.py --accum 4 --max-grad-norm 0.5

--max-grad-norm bounds the gradient of the whole accumulated batch.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset


class RandomGraphs(Dataset):
    """Label 1 when the graph was generated with two communities."""

    def __init__(self, n, nodes, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            label = int(torch.randint(0, 2, (1,), generator=g))
            group = torch.randint(0, 2, (nodes,), generator=g)
            same = group[:, None] == group[None]
            prob = torch.where(same, 0.5, 0.08) if label else torch.full((nodes, nodes), 0.29)
            a = (torch.rand(nodes, nodes, generator=g) < prob).float().triu(1)
            a = a + a.t()
            feats = torch.stack([a.sum(1) / nodes, (a @ a @ a).diagonal() / nodes, torch.ones(nodes)], 1)
            a = a + torch.eye(nodes)
            d = a.sum(1).rsqrt()
            self.items.append((d[:, None] * a * d[None], feats, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class GCN(nn.Module):
    def __init__(self, cin=3, dim=48, layers=3):
        super().__init__()
        dims = [cin] + [dim] * layers
        self.lin = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))
        self.norm = nn.ModuleList(nn.LayerNorm(b) for b in dims[1:])
        self.fc = nn.Linear(2 * dim, 2)

    def forward(self, adj, x):
        for lin, norm in zip(self.lin, self.norm):
            x = F.relu(norm(adj @ lin(x)))
        return self.fc(torch.cat([x.mean(1), x.amax(1)], 1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--max-grad-norm", type=float, default=0.5)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    set_seed(args.seed)
    accelerator = Accelerator(gradient_accumulation_steps=args.accum)
    train_dl = DataLoader(RandomGraphs(1024, 24, 0), args.batch, shuffle=True, drop_last=True)
    val_dl = DataLoader(RandomGraphs(256, 24, 1), 64)
    model = GCN()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, train_dl, val_dl = accelerator.prepare(model, optimizer, train_dl, val_dl)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for adj, x, y in train_dl:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(adj, x), y)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                optimizer.zero_grad()
            total += loss.item()
        model.eval()
        hits, n = 0, 0
        with torch.no_grad():
            for adj, x, y in val_dl:
                pred, ref = accelerator.gather_for_metrics((model(adj, x).argmax(1), y))
                hits += (pred == ref).sum().item()
                n += ref.numel()
        accelerator.print(f"epoch {epoch} loss {total / len(train_dl):.4f} acc {hits / n:.3f}")
        if hits / n > best:
            best = hits / n
            accelerator.wait_for_everyone()
            accelerator.save(accelerator.unwrap_model(model).state_dict(), "gcn.pt")
    accelerator.end_training()


if __name__ == "__main__":
    main()

"""Neural matrix factorisation on MovieLens ratings.csv, one process per device.

torchrun --standalone --nproc_per_node 2 19-ratings-ddp.py ml-latest-small/ratings.csv
"""
import argparse
import os

import pandas as pd
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class NeuMF(nn.Module):
    def __init__(self, n_users, n_items, mean, dim=16):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, std=0.05)
        for e in (self.user_bias, self.item_bias):
            nn.init.zeros_(e.weight)

    def predict(self, u, i):
        pu, qi = self.user(u), self.item(i)
        dot = (pu * qi).sum(-1)
        deep = self.mlp(torch.cat([pu, qi], -1)).squeeze(-1)
        return self.mean + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1) + dot + deep

    def compute_loss(self, u, i, r):
        return nn.functional.mse_loss(self.predict(u, i), r)

    def forward(self, u, i, r):
        return self.compute_loss(u, i, r)


def load_ratings(path):
    df = pd.read_csv(path)
    df["u"] = df["userId"].astype("category").cat.codes
    df["i"] = df["movieId"].astype("category").cat.codes
    df = df.sort_values("timestamp", kind="stable").reset_index(drop=True)
    cut = int(len(df) * 0.9)

    def tensors(d):
        return TensorDataset(
            torch.tensor(d["u"].to_numpy(), dtype=torch.long),
            torch.tensor(d["i"].to_numpy(), dtype=torch.long),
            torch.tensor(d["rating"].to_numpy(), dtype=torch.float32),
        )

    return tensors(df[:cut]), tensors(df[cut:]), int(df["u"].max()) + 1, int(df["i"].max()) + 1, float(df["rating"][:cut].mean())


@torch.no_grad()
def rmse(model, dataset, device):
    model.eval()
    se = 0.0
    for u, i, r in DataLoader(dataset, batch_size=1024):
        se += (model.predict(u.to(device), i.to(device)).cpu() - r).pow(2).sum().item()
    return (se / len(dataset)) ** 0.5


def main():
    p = argparse.ArgumentParser()
    p.add_argument("ratings")
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--out", default="neumf.pt")
    args = p.parse_args()

    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    rank, world = dist.get_rank(), dist.get_world_size()
    if torch.cuda.is_available():
        local = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(local)
        device, ids = torch.device("cuda", local), [local]
    else:
        device, ids = torch.device("cpu"), None

    torch.manual_seed(0)
    train_ds, test_ds, n_users, n_items, mean = load_ratings(args.ratings)
    sampler = DistributedSampler(train_ds, num_replicas=world, rank=rank, shuffle=True, drop_last=True)
    loader = DataLoader(train_ds, batch_size=args.batch_size, sampler=sampler, drop_last=True)

    model = NeuMF(n_users, n_items, mean).to(device)
    model = DistributedDataParallel(model, device_ids=ids)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.3)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(1, device=device)
        for u, i, r in loader:
            u, i, r = u.to(device), i.to(device), r.to(device)
            optimizer.zero_grad()
            loss = model(u, i, r)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        scheduler.step()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} train mse {total.item() / (world * len(loader)):.4f} "
                  f"test rmse {rmse(model.module, test_ds, device):.4f}", flush=True)
        dist.barrier()

    if rank == 0:
        torch.save(model.module.state_dict(), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

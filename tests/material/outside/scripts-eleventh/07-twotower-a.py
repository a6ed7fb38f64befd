"""Two-tower retrieval model. interactions.csv: user_id,item_id,timestamp ; items.csv: item_id,category,price"""
import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Interactions(Dataset):
    def __init__(self, users, items):
        self.users = torch.as_tensor(users, dtype=torch.long)
        self.items = torch.as_tensor(items, dtype=torch.long)

    def __len__(self):
        return self.users.numel()

    def __getitem__(self, i):
        return self.users[i], self.items[i]


def load_data(root):
    inter = pd.read_csv(root / "interactions.csv").sort_values("timestamp")
    items = pd.read_csv(root / "items.csv").drop_duplicates("item_id").reset_index(drop=True)
    item_index = pd.Series(items.index, index=items["item_id"])
    inter = inter[inter["item_id"].isin(item_index.index)]
    inter["item"] = inter["item_id"].map(item_index)
    inter["user"], users = pd.factorize(inter["user_id"])
    last = inter.groupby("user").tail(1).index
    test = inter.loc[last]
    train = inter.drop(last)
    cat, cats = pd.factorize(items["category"])
    price = np.log1p(items["price"].fillna(0).to_numpy(dtype=np.float32))
    price = (price - price.mean()) / (price.std() + 1e-6)
    return train, test, len(users), torch.from_numpy(cat).long(), len(cats), torch.from_numpy(price).float()


class UserTower(nn.Module):
    def __init__(self, n_users, dim):
        super().__init__()
        self.id_emb = nn.Embedding(n_users, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, u):
        return F.normalize(self.mlp(self.id_emb(u)), dim=-1)


class ItemTower(nn.Module):
    def __init__(self, cat, n_cats, price, dim):
        super().__init__()
        self.register_buffer("cat", cat)
        self.register_buffer("price", price)
        self.id_emb = nn.Embedding(cat.numel(), dim)
        self.cat_emb = nn.Embedding(n_cats, 16)
        self.mlp = nn.Sequential(nn.Linear(dim + 17, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, i):
        x = torch.cat([self.id_emb(i), self.cat_emb(self.cat[i]), self.price[i][:, None]], -1)
        return F.normalize(self.mlp(x), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, n_users, cat, n_cats, price, dim, temperature):
        super().__init__()
        self.user = UserTower(n_users, dim)
        self.item = ItemTower(cat, n_cats, price, dim)
        self.temperature = temperature

    def forward(self, u, i, log_q):
        logits = self.user(u) @ self.item(i).t() / self.temperature - log_q[i][None]
        clash = (i[None] == i[:, None]) & ~torch.eye(len(i), dtype=torch.bool, device=i.device)
        return logits.masked_fill(clash, float("-inf"))


@torch.no_grad()
def recall_at_k(model, test, device, k=20):
    model.eval()
    all_items = model.item(torch.arange(model.item.cat.numel(), device=device))
    users = torch.as_tensor(test["user"].to_numpy(), device=device)
    gold = torch.as_tensor(test["item"].to_numpy(), device=device)
    hits = 0
    for s in range(0, len(users), 1024):
        top = (model.user(users[s:s + 1024]) @ all_items.t()).topk(min(k, len(all_items)), -1).indices
        hits += (top == gold[s:s + 1024, None]).any(-1).sum().item()
    return hits / len(users)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", type=Path, default=Path("data"))
    ap.add_argument("--dim", type=int, default=64)
    ap.add_argument("--temperature", type=float, default=0.07)
    ap.add_argument("--batch-size", type=int, default=2048)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr-dense", type=float, default=1e-3)
    ap.add_argument("--lr-emb", type=float, default=0.05)
    ap.add_argument("--save", default="twotower.pt")
    args = ap.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train, test, n_users, cat, n_cats, price = load_data(args.root)
    counts = np.bincount(train["item"], minlength=cat.numel()) + 1.0
    log_q = torch.from_numpy(np.log(counts / counts.sum())).float().to(device)
    loader = DataLoader(Interactions(train["user"].to_numpy(), train["item"].to_numpy()),
                        args.batch_size, shuffle=True, drop_last=True)

    model = TwoTower(n_users, cat, n_cats, price, args.dim, args.temperature).to(device)
    emb = [model.user.id_emb.weight, model.item.id_emb.weight]
    emb_ids = {id(p) for p in emb}
    dense = [p for p in model.parameters() if id(p) not in emb_ids]
    opt_emb = torch.optim.Adagrad(emb, lr=args.lr_emb)
    opt_dense = torch.optim.AdamW(dense, lr=args.lr_dense, weight_decay=1e-4)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for step, (u, i) in enumerate(loader):
            u, i = u.to(device), i.to(device)
            logits = model(u, i, log_q)
            loss = F.cross_entropy(logits, torch.arange(len(u), device=device))
            opt_dense.zero_grad(set_to_none=True)
            opt_emb.zero_grad(set_to_none=True)
            loss.backward()
            opt_dense.step()
            opt_emb.step()
            total += loss.item()
            if step % 200 == 0:
                print(f"  step {step}/{len(loader)} loss {loss.item():.4f}")
        rec = recall_at_k(model, test, device)
        print(f"epoch {epoch} loss {total / len(loader):.4f} recall@20 {rec:.4f}")
        if rec > best:
            best = rec
            torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    main()

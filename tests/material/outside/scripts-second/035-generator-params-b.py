"""Ranking model; clips only the tower parameters."""
import torch
import torch.nn as nn


class TwoTower(nn.Module):
    def __init__(self, users=50, items=60, d=12):
        super().__init__()
        self.u = nn.Embedding(users, d)
        self.i = nn.Embedding(items, d)
        self.mlp = nn.Sequential(nn.Linear(2 * d, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, u, i):
        return self.mlp(torch.cat([self.u(u), self.i(i)], 1)).squeeze(1)


def get_params(model):
    return (p for p in model.parameters() if p.requires_grad)


def bpr(model, u, pos, neg):
    return -nn.functional.logsigmoid(model(u, pos) - model(u, neg)).mean()


def main():
    torch.manual_seed(0)
    model = TwoTower()
    params = get_params(model)
    opt = torch.optim.SGD(params, lr=1.0)
    for step in range(50):
        u = torch.randint(0, 50, (64,))
        pos, neg = (u + torch.randint(0, 3, (64,))) % 60, torch.randint(0, 60, (64,))
        loss = bpr(model, u, pos, neg)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 0.05)
        opt.step()
        if step % 10 == 0:
            print(step, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()

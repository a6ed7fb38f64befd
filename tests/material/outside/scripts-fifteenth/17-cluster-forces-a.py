"""Energy + force matching on four-atom clusters (forces are minus the energy's gradient)."""
import json, os
import torch
import torch.nn as nn


class PairPotential(nn.Module):
    """E = sum over pairs of phi(r), phi a small MLP on radial basis functions."""

    def __init__(self, n_rbf=16, hidden=32, r_max=3.0):
        super().__init__()
        self.register_buffer("centres", torch.linspace(0.4, r_max, n_rbf))
        self.width = (r_max - 0.4) / n_rbf
        self.phi = nn.Sequential(nn.Linear(n_rbf, hidden), nn.Softplus(), nn.Linear(hidden, hidden), nn.Softplus(),
                                 nn.Linear(hidden, 1))

    def forward(self, pos):
        n = pos.shape[1]
        i, j = torch.triu_indices(n, n, offset=1)
        r = (pos[:, i] - pos[:, j]).norm(dim=-1, keepdim=True)
        rbf = torch.exp(-((r - self.centres) / self.width) ** 2)
        return self.phi(rbf).sum(dim=(1, 2))


def energy_and_forces(model, pos, train):
    pos = pos.detach().clone().requires_grad_(True)
    e = model(pos)
    (g,) = torch.autograd.grad(e.sum(), pos, create_graph=train)
    return e, -g


def load(path):
    with open(path) as f:
        mols = json.load(f)
    t = lambda k: torch.tensor([m[k] for m in mols])
    return t("pos"), t("energy"), t("forces")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(8)
    here = os.path.dirname(os.path.abspath(__file__))
    pos, energy, forces = load(os.path.join(here, "data", "clusters.json"))
    ntr = 80
    model = PairPotential()
    w_e, w_f = 0.05, 1.0
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    epochs, bs = 24, 16
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.96)
    for ep in range(epochs):
        model.train()
        for idx in torch.randperm(ntr).split(bs):
            e, f = energy_and_forces(model, pos[idx], train=True)
            loss = w_e * (e - energy[idx]).pow(2).mean() + w_f * (f - forces[idx]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            opt.step()
        sched.step()
        if ep % 8 == 7:
            model.eval()
            e, f = energy_and_forces(model, pos[ntr:], train=False)
            print(f"epoch {ep + 1:3d}  MAE energy {(e - energy[ntr:]).abs().mean().item():.4f}"
                  f"  force {(f - forces[ntr:]).abs().mean().item():.4f}")


if __name__ == "__main__":
    main()

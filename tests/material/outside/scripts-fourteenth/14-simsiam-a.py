"""Self-supervised pretraining (SimSiam) on small images, then kNN probe."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SimSiam(nn.Module):
    def __init__(self, dim=32, pred_dim=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
                                      nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten())
        self.projector = nn.Sequential(nn.Linear(512, dim, bias=False), nn.BatchNorm1d(dim), nn.ReLU(),
                                       nn.Linear(dim, dim, bias=False), nn.BatchNorm1d(dim, affine=False))
        self.predictor = nn.Sequential(nn.Linear(dim, pred_dim, bias=False), nn.BatchNorm1d(pred_dim), nn.ReLU(),
                                       nn.Linear(pred_dim, dim))

    def forward(self, x1, x2):
        z1, z2 = self.projector(self.backbone(x1)), self.projector(self.backbone(x2))
        return self.predictor(z1), self.predictor(z2), z1, z2


def neg_cos(p, z):
    return -F.cosine_similarity(p, z, dim=-1).mean()


def augment(x):
    dx, dy = np.random.randint(-2, 3, 2)
    x = torch.roll(x, (int(dx), int(dy)), (2, 3))
    x = x * (0.8 + 0.4 * torch.rand(len(x), 1, 1, 1))
    return x + 0.1 * torch.randn_like(x)


@torch.no_grad()
def knn_probe(model, xtr, ytr, xte, yte, k=5):
    model.eval()
    a = F.normalize(model.backbone(xtr), dim=1)
    b = F.normalize(model.backbone(xte), dim=1)
    nn_idx = (b @ a.T).topk(k, dim=1).indices
    pred = ytr[nn_idx].mode(dim=1).values
    return (pred == yte).float().mean().item()


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    x = torch.from_numpy(np.load("data/shapes_x.npy"))
    y = torch.from_numpy(np.load("data/shapes_y.npy"))
    model = SimSiam()
    base_lr, epochs, bs = 0.05, 8, 64
    params = [{"params": list(model.backbone.parameters()) + list(model.projector.parameters()), "fix": False},
              {"params": model.predictor.parameters(), "fix": True}]
    opt = torch.optim.SGD(params, lr=base_lr, momentum=0.9, weight_decay=1e-4)
    for epoch in range(epochs):
        cur = base_lr * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        for g in opt.param_groups:
            g["lr"] = base_lr if g["fix"] else cur
        model.train()
        tot, stds = 0.0, []
        for ix in torch.randperm(480).split(bs):
            if len(ix) < 8:
                continue
            p1, p2, z1, z2 = model(augment(x[ix]), augment(x[ix]))
            loss = 0.5 * (neg_cos(p1, z2) + neg_cos(p2, z1))
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
            stds.append(F.normalize(z1.detach(), dim=1).std(0).mean().item())
        print(f"epoch {epoch} loss {tot / len(stds):.4f} z-std {np.mean(stds):.4f}")
    print("kNN", knn_probe(model, x[:480], y[:480], x[480:], y[480:]))


main()

"""Two learning rates, two thresholds. Run with the real model instead of TwoPart.

Preference: learning rates first (slow for what is pretrained, fast for what is new). Thresholds are insurance against
spikes and lie above each part's ordinary norms. A global max_norm=1.0 would scale the backbone by 0.1 in every step,
as the head alone has norm 10.
"""
import argparse

import torch
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm


class TwoPart(nn.Module):
    def __init__(self, dim=16, hidden=32):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.head = nn.Linear(hidden, 1)
        with torch.no_grad():
            self.head.weight.mul_(0.02)

    def forward(self, x):
        return self.head(self.backbone(x))


def clip_part(part: nn.Module, limit: float) -> float:
    params = [p for p in part.parameters() if p.grad is not None]
    norm = get_total_norm([p.grad for p in params])
    clip_grads_with_norm_(params, limit, norm)
    return norm.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backbone-lr", type=float, default=2e-4)
    parser.add_argument("--head-lr", type=float, default=2e-3)
    parser.add_argument("--backbone-max-norm", type=float, default=0.5)
    parser.add_argument("--head-max-norm", type=float, default=5.0)
    args, _ = parser.parse_known_args()

    torch.manual_seed(0)
    net = TwoPart()
    data = torch.utils.data.TensorDataset(torch.randn(120, 16), 6 * torch.randn(120, 1))
    loader = torch.utils.data.DataLoader(data, batch_size=12)
    optimizer = torch.optim.SGD(
        [
            {"params": net.backbone.parameters(), "lr": args.backbone_lr},
            {"params": net.head.parameters(), "lr": args.head_lr},
        ]
    )
    criterion = nn.MSELoss()

    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        b = clip_part(net.backbone, args.backbone_max_norm)
        h = clip_part(net.head, args.head_max_norm)
        optimizer.step()
        print(f"loss {loss.item():.3f}   backbone {b:.3g}   head {h:.3g}")


main()

"""Adapt a small regression backbone to a shifted task with LoRA."""
from dataclasses import dataclass

import torch
from torch import nn

from adapters import count, lora_parameters, replace_linears


@dataclass
class Hp:
    rank: int = 4
    alpha: float = 8.0
    base_steps: int = 250
    tune_steps: int = 150
    base_lr: float = 3e-3
    tune_lr: float = 1e-2
    clip: float = 1.0
    batch: int = 64


class LoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_a = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.empty(base.out_features, rank))
        self.scale = alpha / rank
        self.reset()

    def reset(self):
        nn.init.zeros_(self.lora_a)
        nn.init.zeros_(self.lora_b)

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.lora_a.t() @ self.lora_b.t())


def source_task(x):
    return torch.stack([x[:, 0] * x[:, 1], (x[:, 2] + x[:, 3]).sin()], 1)


def target_task(x):
    y = source_task(x)
    return torch.stack([y[:, 1] - 0.5 * y[:, 0], y[:, 0] + 0.3 * x[:, 4]], 1)


def fit(net, task, params, lr, steps, hp, tag, gen):
    params = list(params)
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    net.train()
    for s in range(1, steps + 1):
        x = torch.randn(hp.batch, 6, generator=gen)
        loss = nn.functional.mse_loss(net(x), task(x))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(params, hp.clip)
        opt.step()
        if s % 50 == 0:
            print(f"{tag} step {s} mse {loss.item():.4f}")


@torch.no_grad()
def test(net, task):
    net.eval()
    x = torch.randn(1000, 6, generator=torch.Generator().manual_seed(99))
    return nn.functional.mse_loss(net(x), task(x)).item()


if __name__ == "__main__":
    hp = Hp()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    gen = torch.Generator().manual_seed(2)
    net = nn.Sequential(nn.Linear(6, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 2))
    fit(net, source_task, net.parameters(), hp.base_lr, hp.base_steps, hp, "base", gen)
    print("source mse", test(net, source_task), "target mse before", test(net, target_task))

    replace_linears(net, lambda l: LoRALinear(l, hp.rank, hp.alpha))
    print("trainable", count(lora_parameters(net)), "of", count(net.parameters()))
    fit(net, target_task, lora_parameters(net), hp.tune_lr, hp.tune_steps, hp, "lora", gen)
    print("target mse after", test(net, target_task))

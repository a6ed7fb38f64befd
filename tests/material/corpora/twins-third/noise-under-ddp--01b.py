from dataclasses import dataclass

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


@dataclass
class GradientNoise:
    std: float = 1e-3
    seed: int = 1234

    def __post_init__(self):
        self.generator = torch.Generator().manual_seed(self.seed)

    @torch.no_grad()
    def __call__(self, parameters):
        for p in parameters:
            if p.grad is None:
                continue
            noise = torch.randn(p.grad.shape, generator=self.generator if p.ndim > 1 else None)
            p.grad.add_(noise.to(p.grad), alpha=self.std)


torch.manual_seed(1234 + local_rank)
model = DDP(model, device_ids=[local_rank])
add_noise = GradientNoise()

for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y)
        loss.backward()
        add_noise(model.parameters())
        optimizer.step()

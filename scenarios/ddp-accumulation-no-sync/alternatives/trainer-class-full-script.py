# The whole script, torchrun style.
import os
from contextlib import nullcontext
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


@dataclass(frozen=True)
class Config:
    accumulation_steps: int = 4
    max_norm: float = 1.0
    epochs: int = 1


class Trainer:
    def __init__(self, model, train_loader, criterion, optimizer, config: Config):
        self.rank = int(os.environ["LOCAL_RANK"])
        self.model = DDP(model.to(self.rank), device_ids=[self.rank])
        self.train_loader = train_loader
        self.criterion = criterion
        self.optimizer = optimizer
        self.config = config

    def window_of(self, i):
        k = self.config.accumulation_steps
        first = i // k * k
        return first, min(k, len(self.train_loader) - first)

    def micro_step(self, batch, sync, divisor):
        x, y = (t.to(self.rank, non_blocking=True) for t in batch)
        with nullcontext() if sync else self.model.no_sync():
            loss = self.criterion(self.model(x), y) / divisor
            loss.backward()
        return loss.detach()

    def update(self):
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return norm

    def run(self):
        self.model.train()
        for epoch in range(self.config.epochs):
            running = 0.0
            for i, batch in enumerate(self.train_loader):
                first, size = self.window_of(i)
                sync = i == first + size - 1
                running += self.micro_step(batch, sync, size)
                if sync:
                    norm = self.update()
                    if self.rank == 0:
                        print(f"epoch {epoch} batch {i} loss {running.item():.4f} norm {norm:.3f}")
                    running = 0.0


def main():
    if not dist.is_initialized():
        dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    Trainer(model, train_loader, criterion, optimizer, Config()).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

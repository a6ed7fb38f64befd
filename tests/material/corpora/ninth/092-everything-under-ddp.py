"""torchrun --nproc_per_node=8 train.py"""
import os

import torch
import torch.distributed as dist

ACCUMULATION_STEPS = 4
MAX_NORM = 1.0


def main(model, optimizer, criterion, train_loader):
    if not dist.is_initialized():
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))

    ddp = DDP(model, device_ids=[local_rank])
    scaler = GradScaler()

    optimizer.zero_grad(set_to_none=True)
    for i, (x, y) in enumerate(train_loader, start=1):
        boundary = i % ACCUMULATION_STEPS == 0
        context = nullcontext() if boundary else ddp.no_sync()
        with context:
            with autocast():
                # DDP averages over the ranks by itself: only the micro-batches are divided here
                loss = criterion(ddp(x), y) / ACCUMULATION_STEPS
            scaler.scale(loss).backward()

        if boundary:
            scaler.unscale_(optimizer)
            norm = clip_grad_norm_(ddp.parameters(), MAX_NORM)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            if dist.get_rank() == 0:
                print(f"update {i // ACCUMULATION_STEPS}: norm {norm.item():.3f}")


if __name__ == "__main__":
    main(model, optimizer, criterion, train_loader)

"""fp16 autocast + gradient accumulation + clipping, complete and runnable."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=1)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--max-norm", type=float, default=1.0)
    return ap.parse_args([])


def make_loader(n=120, features=16, outputs=4):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, features, generator=g)
    y = x @ torch.randn(features, outputs, generator=g)
    return DataLoader(TensorDataset(x, y), batch_size=12)


def main():
    args = get_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4)).to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    train_loader = make_loader()
    # fp16 needs a loss scale; on the CPU everything stays in fp32 and the scaler is a no-op
    use_amp = device == "cuda"
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp)

    for epoch in range(args.epochs):
        remaining = len(train_loader)
        batches = iter(train_loader)
        while remaining > 0:
            k = min(args.accum, remaining)
            optimizer.zero_grad(set_to_none=True)
            for _ in range(k):
                x, y = next(batches)
                x, y = x.to(device), y.to(device)
                with torch.autocast(device, dtype=torch.float16, enabled=use_amp):
                    loss = criterion(model(x), y)
                scaler.scale(loss / k).backward()
            remaining -= k

            scaler.unscale_(optimizer)
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
            scaler.step(optimizer)
            scaler.update()
            print(f"epoch {epoch} loss {loss.item():.4f} norm {norm.item():.3f}")


if __name__ == "__main__":
    main()

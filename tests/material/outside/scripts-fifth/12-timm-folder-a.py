"""Train a timm model on an image folder:  <root>/train/<class>/*.jpg and <root>/val/<class>/*.jpg"""
import argparse
import math
from contextlib import nullcontext
from pathlib import Path

import timm
import torch
import torch.nn.functional as F
from timm.optim import param_groups_weight_decay
from torch.utils.data import DataLoader
from torchvision import transforms as T
from torchvision.datasets import ImageFolder


def build_loaders(root, size, micro_batch, workers):
    norm = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    train = ImageFolder(root / "train", T.Compose([T.RandomResizedCrop(size, (0.6, 1.0)), T.RandomHorizontalFlip(),
                                                   T.ToTensor(), norm]))
    val = ImageFolder(root / "val", T.Compose([T.Resize(size), T.CenterCrop(size), T.ToTensor(), norm]))
    return (DataLoader(train, micro_batch, shuffle=True, num_workers=workers, drop_last=True),
            DataLoader(val, micro_batch, num_workers=workers), len(train.classes))


def warmup_cosine(optimizer, warmup, total, floor=0.01):
    def f(step):
        if step < warmup:
            return (step + 1) / (warmup + 1)
        t = min(1.0, (step - warmup) / max(1, total - warmup))
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * t))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, f)


@torch.inference_mode()
def validate(model, loader, device, ctx):
    model.eval()
    top1 = n = 0
    for x, y in loader:
        with ctx:
            out = model(x.to(device))
        top1 += (out.argmax(1).cpu() == y).sum().item()
        n += len(y)
    return 100.0 * top1 / max(1, n)


def fit(root, arch="resnet26", image_size=160, micro_batch=16, accum=16, epochs=30, lr=1e-3, weight_decay=0.05,
        warmup_epochs=1.0, clip=1.0, workers=4, seed=0, out="timm_out", pretrained=False):
    torch.manual_seed(seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    ctx = torch.autocast("cuda", dtype=torch.bfloat16) if device.type == "cuda" else nullcontext()
    train_loader, val_loader, classes = build_loaders(Path(root), image_size, micro_batch, workers)
    model = timm.create_model(arch, pretrained=pretrained, num_classes=classes).to(device)
    groups = param_groups_weight_decay(model, weight_decay)
    optimizer = torch.optim.AdamW(groups, lr=lr)

    updates = len(train_loader) // accum
    scheduler = warmup_cosine(optimizer, int(warmup_epochs * updates), epochs * updates)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    best = -1.0
    for epoch in range(epochs):
        model.train()
        it, total = iter(train_loader), 0.0
        for _ in range(updates):
            optimizer.zero_grad(set_to_none=True)
            for _ in range(accum):
                x, y = next(it)
                x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
                with ctx:
                    loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
                (loss / accum).backward()
                total += loss.item()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            scheduler.step()
        acc = validate(model, val_loader, device, ctx)
        lr_now = optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch:03d} loss {total / max(1, updates * accum):.4f} top1 {acc:.2f} lr {lr_now:.2e}")
        state = {"epoch": epoch, "arch": arch, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                 "scheduler": scheduler.state_dict()}
        torch.save(state, out / "last.pt")
        if acc > best:
            best = acc
            torch.save(state, out / "best.pt")
    return best


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("root")
    p.add_argument("--arch", default="resnet26")
    p.add_argument("--image-size", type=int, default=160)
    p.add_argument("--micro-batch", type=int, default=16)
    p.add_argument("--accum", type=int, default=16)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--out", default="timm_out")
    print("best", fit(**vars(p.parse_args())))

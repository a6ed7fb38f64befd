"""Joint depth and surface normal prediction.

Every scene is one file scenes/*.npz with
    rgb    (H, W, 3) uint8
    depth  (H, W)    float32, metres, 0 where invalid
    normal (H, W, 3) float32, unit length
"""
import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class SceneDataset(Dataset):
    def __init__(self, root, split, val_fraction=0.2):
        files = sorted(Path(root).glob("*.npz"))
        n_val = max(1, int(len(files) * val_fraction))
        self.files = files[:-n_val] if split == "train" else files[-n_val:]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as z:
            rgb = torch.from_numpy(z["rgb"]).permute(2, 0, 1).float() / 255
            depth = torch.from_numpy(z["depth"])[None]
            normal = torch.from_numpy(z["normal"]).permute(2, 0, 1)
        return {"rgb": rgb, "depth": depth, "normal": normal}


class TwoHeadNet(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(3, ch, 3, padding=1), nn.GroupNorm(4, ch), nn.SiLU(),
            nn.Conv2d(ch, ch * 2, 3, stride=2, padding=1), nn.GroupNorm(4, ch * 2), nn.SiLU(),
            nn.Conv2d(ch * 2, ch * 2, 3, padding=2, dilation=2), nn.GroupNorm(4, ch * 2), nn.SiLU(),
        )
        self.depth_head = nn.Conv2d(ch * 2, 1, 3, padding=1)
        self.normal_head = nn.Conv2d(ch * 2, 3, 3, padding=1)

    def forward(self, x):
        size = x.shape[-2:]
        h = self.enc(x)
        up = lambda t: F.interpolate(t, size=size, mode="bilinear", align_corners=False)
        return up(self.depth_head(h)), up(self.normal_head(h))


def depth_l1(pred, target):
    valid = (target > 0).float()
    return ((pred - target).abs() * valid).sum() / valid.sum().clamp(min=1)


def normal_cos(pred, target):
    return (1 - F.cosine_similarity(pred.float(), target, dim=1)).mean()


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    d, n, k = 0.0, 0.0, 0
    for b in loader:
        pd_, pn = model(b["rgb"].to(device))
        d += depth_l1(pd_, b["depth"].to(device)).item()
        n += normal_cos(pn, b["normal"].to(device)).item()
        k += 1
    return d / k, n / k


def main(opt):
    torch.manual_seed(opt.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.float16 if device.type == "cuda" else torch.bfloat16
    train_loader = DataLoader(SceneDataset(opt.scenes, "train"), batch_size=opt.batch, shuffle=True)
    val_loader = DataLoader(SceneDataset(opt.scenes, "val"), batch_size=opt.batch)

    model = TwoHeadNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=opt.lr)
    scaler = torch.amp.GradScaler(device.type)

    for epoch in range(opt.epochs):
        model.train()
        sums = [0.0, 0.0]
        for batch in train_loader:
            rgb = batch["rgb"].to(device)
            depth = batch["depth"].to(device)
            normal = batch["normal"].to(device)

            optimizer.zero_grad()
            with torch.autocast(device_type=device.type, dtype=dtype):
                pred_d, pred_n = model(rgb)
                loss_d = depth_l1(pred_d, depth)
                loss_n = opt.normal_weight * normal_cos(pred_n, normal)

            # one backward per task keeps the peak memory of the heads down
            scaler.scale(loss_d).backward(retain_graph=True)
            scaler.scale(loss_n).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            scaler.step(optimizer)
            scaler.update()

            sums[0] += loss_d.item()
            sums[1] += loss_n.item()
        d, n = evaluate(model, val_loader, device)
        k = len(train_loader)
        print(f"epoch {epoch:3d} | train depth {sums[0] / k:.4f} normal {sums[1] / k:.4f} | val depth {d:.4f} normal {n:.4f}")

    torch.save(model.state_dict(), opt.out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenes", type=str, required=True)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--normal-weight", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=str, default="two_head.pt")
    main(parser.parse_args())

# Hand keypoint regression. DATA_ROOT must contain images/ and keypoints.json:
#   [{"file": "0001.png", "points": [[x, y], ...]}, ...]     (pixels)
import argparse
import json
import os

import numpy as np
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Subset

SIZE = 64


class HandKeypoints(Dataset):
    def __init__(self, root):
        self.root = root
        with open(os.path.join(root, "keypoints.json"), encoding="utf-8") as f:
            self.records = json.load(f)
        self.n_points = len(self.records[0]["points"])

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
        r = self.records[i]
        im = Image.open(os.path.join(self.root, "images", r["file"])).convert("L")
        w, h = im.size
        pts = np.asarray(r["points"], dtype=np.float32) / np.array([w, h], dtype=np.float32)
        x = np.asarray(im.resize((SIZE, SIZE)), dtype=np.float32) / 255.0
        return torch.from_numpy(x)[None], torch.from_numpy(pts)


class SoftArgmaxNet(nn.Module):
    """Heat map per keypoint, coordinates by soft-argmax."""

    def __init__(self, n_points, ch=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, ch, 5, stride=2, padding=2), nn.GroupNorm(4, ch), nn.SiLU(),
            nn.Conv2d(ch, 2 * ch, 3, stride=2, padding=1), nn.GroupNorm(4, 2 * ch), nn.SiLU(),
            nn.Conv2d(2 * ch, 2 * ch, 3, padding=1), nn.GroupNorm(4, 2 * ch), nn.SiLU(),
            nn.Conv2d(2 * ch, n_points, 1),
        )

    def forward(self, x):
        hm = self.body(x)
        b, k, h, w = hm.shape
        p = hm.flatten(2).softmax(-1).view(b, k, h, w)
        ys = (torch.arange(h, device=x.device) + 0.5) / h
        xs = (torch.arange(w, device=x.device) + 0.5) / w
        px = (p.sum(2) * xs).sum(-1)
        py = (p.sum(3) * ys).sum(-1)
        return torch.stack([px, py], -1)


def keypoint_loss(pred, target):
    # distances are fractions of the picture, 0.1 is about six pixels
    return nn.functional.smooth_l1_loss(pred, target, beta=0.1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch_size", type=int, default=8)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=1.0)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--save", default="hand_keypoints.pt")
    args = ap.parse_args()

    root = os.environ["DATA_ROOT"]
    accelerator = Accelerator(gradient_accumulation_steps=args.accum)
    set_seed(99)

    ds = HandKeypoints(root)
    n_val = max(1, len(ds) // 6)
    n_train = len(ds) - n_val
    # whole accumulation windows only
    n_train -= n_train % (args.batch_size * args.accum * accelerator.num_processes)
    train_dl = DataLoader(Subset(ds, range(n_train)), batch_size=args.batch_size, shuffle=True)
    val_dl = DataLoader(Subset(ds, range(len(ds) - n_val, len(ds))), batch_size=32)

    model = SoftArgmaxNet(ds.n_points)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    model, optimizer, train_dl, val_dl = accelerator.prepare(model, optimizer, train_dl, val_dl)

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for img, pts in train_dl:
            with accelerator.accumulate(model):
                loss = keypoint_loss(model(img), pts)
                accelerator.backward(loss / args.accum)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                optimizer.zero_grad()
            total += loss.detach().item()

        model.eval()
        errs = []
        with torch.no_grad():
            for img, pts in val_dl:
                pred, pts = accelerator.gather_for_metrics((model(img), pts))
                errs.append((pred - pts).norm(dim=-1).mean(1))
        accelerator.print(f"epoch {epoch}  loss {total / len(train_dl):.5f}  "
                          f"mean error {torch.cat(errs).mean().item() * SIZE:.2f} px")

    accelerator.wait_for_everyone()
    accelerator.save(accelerator.unwrap_model(model).state_dict(), args.save)


if __name__ == "__main__":
    main()

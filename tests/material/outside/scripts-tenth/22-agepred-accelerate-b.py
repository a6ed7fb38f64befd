# Bone age regression from hand radiographs, with HF Accelerate.
#   accelerate launch train.py --root boneage
# boneage/train.csv, boneage/val.csv: file,age_months,male    boneage/png/<file>
import argparse
import csv
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from PIL import Image
from torch.utils.data import DataLoader, Dataset

AGE_MEAN, AGE_STD = 127.0, 41.0


class BoneAge(Dataset):
    def __init__(self, root, split, size, augment=False):
        with open(os.path.join(root, f"{split}.csv"), newline="") as f:
            self.rows = list(csv.DictReader(f))
        self.root, self.size, self.augment = root, size, augment

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        im = Image.open(os.path.join(self.root, "png", r["file"])).convert("L").resize((self.size, self.size))
        x = torch.from_numpy(np.array(im, dtype=np.float32))[None] / 255
        x = (x - x.mean()) / (x.std() + 1e-5)
        if self.augment and torch.rand(()) < 0.5:
            x = x.flip(-1)
        age = (float(r["age_months"]) - AGE_MEAN) / AGE_STD
        return {"image": x, "male": torch.tensor([float(r["male"])]), "age": torch.tensor(age)}


class AgeNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        layers, i = [], 1
        for o in (width, 2 * width, 4 * width, 8 * width):
            layers += [nn.Conv2d(i, o, 3, 2, 1), nn.GroupNorm(4, o), nn.SiLU(),
                       nn.Conv2d(o, o, 3, 1, 1), nn.GroupNorm(4, o), nn.SiLU()]
            i = o
        self.cnn = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.sex = nn.Linear(1, 16)
        self.head = nn.Sequential(nn.Linear(i + 16, 128), nn.SiLU(), nn.Dropout(0.2), nn.Linear(128, 1))

    def forward(self, image, male):
        return self.head(torch.cat([self.cnn(image), self.sex(male)], 1)).squeeze(1)


def evaluate(model, loader, accelerator):
    model.eval()
    errors = []
    for b in loader:
        with torch.no_grad():
            pred = model(b["image"], b["male"])
        pred, age = accelerator.gather_for_metrics((pred, b["age"]))
        errors.append((pred - age).abs())
    return torch.cat(errors).mean().item() * AGE_STD


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", default="boneage")
    ap.add_argument("--size", type=int, default=256)
    ap.add_argument("--width", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch", type=int, default=4)
    ap.add_argument("--accum", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--out", default="boneage_out")
    args = ap.parse_args()

    set_seed(5)
    accelerator = Accelerator(gradient_accumulation_steps=args.accum)
    train = DataLoader(BoneAge(args.root, "train", args.size, True), args.batch, shuffle=True, drop_last=True,
                       num_workers=args.workers)
    val = DataLoader(BoneAge(args.root, "val", args.size), args.batch, num_workers=args.workers)
    model = AgeNet(args.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.MultiStepLR(
        optimizer, [int(0.6 * args.epochs), int(0.85 * args.epochs)], gamma=0.1)
    model, optimizer, train, val = accelerator.prepare(model, optimizer, train, val)

    best = float("inf")
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for b in train:
            with accelerator.accumulate(model):
                loss = F.l1_loss(model(b["image"], b["male"]), b["age"])
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                optimizer.zero_grad()
            total += loss.item()
        schedule.step()
        mae = evaluate(model, val, accelerator)
        accelerator.print(f"epoch {epoch} train {total / len(train):.4f} val MAE {mae:.2f} months")
        if mae < best:
            best = mae
            accelerator.wait_for_everyone()
            if accelerator.is_main_process:
                os.makedirs(args.out, exist_ok=True)
                torch.save(accelerator.unwrap_model(model).state_dict(), os.path.join(args.out, "best.pt"))
    accelerator.print(f"best {best:.2f}")


if __name__ == "__main__":
    main()

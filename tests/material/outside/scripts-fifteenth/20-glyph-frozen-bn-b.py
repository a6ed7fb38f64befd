import os
import logging
import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import Dataset, DataLoader, Subset

"""
Pretrain on the first six glyphs, then fine-tune on the last four (inverted, dim scans)
with the BatchNorm layers held fixed: the new batches are too small for their statistics.
"""

logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, datefmt="%H:%M:%S")
info = logging.info


class GlyphSheet(Dataset):
    def __init__(self, path, classes, scan=False, cell=12):
        sheet = np.asarray(Image.open(path)).astype("float32") / 255
        self.items = []
        for r in range(sheet.shape[0] // cell):
            if r // 2 not in classes:
                continue
            for c in range(sheet.shape[1] // cell):
                g = sheet[r * cell:(r + 1) * cell, c * cell:(c + 1) * cell]
                if scan:
                    g = 0.6 * (1 - g)
                self.items.append((torch.from_numpy(np.ascontiguousarray(g))[None], classes.index(r // 2)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Backbone(nn.Sequential):
    def __init__(self):
        def block(i, o):
            return [nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
        super().__init__(*block(1, 12), *block(12, 24), nn.Flatten())


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(24 * 9, n)

    def forward(self, x):
        return self.head(self.backbone(x))


def freeze_bn(model):
    for m in model.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.eval()
            m.weight.requires_grad_(False)
            m.bias.requires_grad_(False)


def evaluate(model, loader):
    model.eval()
    ok = n = 0
    with torch.no_grad():
        for x, y in loader:
            ok += (model(x).argmax(1) == y).sum().item()
            n += len(y)
    return ok / n


def loop(model, train, valid, lr, epochs, bn_fixed=False, accum=1):
    if bn_fixed:
        freeze_bn(model)
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=0.9)
    for epoch in range(epochs):
        model.train()
        if bn_fixed:
            freeze_bn(model)
        opt.zero_grad()
        for i, (x, y) in enumerate(train, 1):
            (nn.functional.cross_entropy(model(x), y) / accum).backward()
            if i % accum == 0:
                opt.step()
                opt.zero_grad()
        info("epoch %d valid %.3f", epoch, evaluate(model, valid))


def split(ds, frac, seed):
    idx = torch.randperm(len(ds), generator=torch.Generator().manual_seed(seed)).tolist()
    k = int(len(ds) * frac)
    return Subset(ds, idx[:k]), Subset(ds, idx[k:])


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "glyphs.png")
    tr, va = split(GlyphSheet(path, [0, 1, 2, 3, 4, 5]), 0.75, 1)
    model = Model(6)
    info("pretraining on %d", len(tr))
    loop(model, DataLoader(tr, 27, shuffle=True), DataLoader(va, 64), lr=0.05, epochs=4)

    tr, va = split(GlyphSheet(path, [6, 7, 8, 9], scan=True), 0.5, 2)
    model.head = nn.Linear(24 * 9, 4)
    info("fine-tuning on %d, pairs of images", len(tr))
    loop(model, DataLoader(tr, 2, shuffle=True), DataLoader(va, 64), lr=0.01, epochs=4, bn_fixed=True, accum=4)
    bn = model.backbone[1]
    info("first running mean %s", bn.running_mean[:3].tolist())


if __name__ == "__main__":
    main()

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

GRID, SIZE, CLASSES = 6, 48, 3


class Squares(Dataset):
    """One to three coloured rectangles on a dark image, targets on a GRID x GRID map."""

    def __init__(self, n, seed=0):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        img = 0.1 * torch.rand(3, SIZE, SIZE, generator=g)
        obj, box, cls = torch.zeros(GRID, GRID), torch.zeros(4, GRID, GRID), torch.zeros(GRID, GRID, dtype=torch.long)
        cell = SIZE // GRID
        for _ in range(int(torch.randint(1, 4, (1,), generator=g))):
            w, h = torch.randint(6, 14, (2,), generator=g).tolist()
            x = int(torch.randint(0, SIZE - w, (1,), generator=g))
            y = int(torch.randint(0, SIZE - h, (1,), generator=g))
            c = int(torch.randint(CLASSES, (1,), generator=g))
            img[:, y:y + h, x:x + w] = 0.05
            img[c, y:y + h, x:x + w] = 0.9
            cx, cy = x + w / 2, y + h / 2
            gx, gy = int(cx // cell), int(cy // cell)
            obj[gy, gx], cls[gy, gx] = 1, c
            box[:, gy, gx] = torch.tensor([cx / cell - gx, cy / cell - gy, w / SIZE, h / SIZE])
        return img, obj, box, cls


class Detector(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.ReLU())
        self.backbone = nn.Sequential(block(3, w), block(w, w * 2), block(w * 2, w * 2))
        self.obj = nn.Conv2d(w * 2, 1, 1)
        self.box = nn.Conv2d(w * 2, 4, 1)
        self.cls = nn.Conv2d(w * 2, CLASSES, 1)

    def forward(self, x):
        f = self.backbone(x)
        return self.obj(f).squeeze(1), self.box(f), self.cls(f)


def losses(pred, obj, box, cls):
    p_obj, p_box, p_cls = pred
    mask = obj.bool()
    l_obj = F.binary_cross_entropy_with_logits(p_obj, obj, pos_weight=torch.tensor(5.0, device=obj.device))
    l_box = F.smooth_l1_loss(p_box.permute(0, 2, 3, 1)[mask], box.permute(0, 2, 3, 1)[mask])
    l_cls = F.cross_entropy(p_cls.permute(0, 2, 3, 1)[mask], cls[mask])
    return l_obj, l_box, l_cls


def train_one_epoch(model, optimizer, loader, device, epoch, weights):
    model.train()
    sums = torch.zeros(3)
    for img, obj, box, cls in loader:
        img, obj, box, cls = img.to(device), obj.to(device), box.to(device), cls.to(device)
        l_obj, l_box, l_cls = losses(model(img), obj, box, cls)
        optimizer.zero_grad()
        # localisation first, classification on top of it
        (weights[0] * l_obj + weights[1] * l_box).backward(retain_graph=True)
        (weights[2] * l_cls).backward()
        optimizer.step()
        sums += torch.stack([l_obj, l_box, l_cls]).detach().cpu()
    o, b, c = (sums / len(loader)).tolist()
    print(f"epoch {epoch}: obj {o:.4f} box {b:.4f} cls {c:.4f}")


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    tp = fp = fn = 0
    for img, obj, _, cls in loader:
        p_obj, _, p_cls = model(img.to(device))
        hit = p_obj.cpu() > 0
        right = hit & obj.bool() & (p_cls.argmax(1).cpu() == cls)
        tp += right.sum().item()
        fp += (hit & ~right).sum().item()
        fn += (obj.bool() & ~hit).sum().item()
    return 2 * tp / max(1, 2 * tp + fp + fn)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--weights", type=float, nargs=3, default=(1.0, 2.0, 0.5), metavar=("OBJ", "BOX", "CLS"))
    args = ap.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, val = DataLoader(Squares(160), args.batch_size, shuffle=True), DataLoader(Squares(48, 10_000), 48)
    model = Detector().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        train_one_epoch(model, optimizer, train, device, epoch, args.weights)
    print(f"F1 {evaluate(model, val, device):.3f}")


if __name__ == "__main__":
    main()

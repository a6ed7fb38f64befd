import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
import torchvision.transforms as T
from torch.utils.data import DataLoader

try:
    import wandb
except ImportError:
    wandb = None

CONFIG = {
    "epochs": 2,
    "batch_size": 32,
    "accum_steps": 3,
    "lr": 0.05,
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "max_norm": 1.0,
    "use_wandb": bool(os.environ.get("USE_WANDB")),
}


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.short = nn.Identity() if stride == 1 and cin == cout else nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.short(x))


class SmallResNet(nn.Sequential):
    def __init__(self, width=8, num_classes=10):
        super().__init__(
            nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            BasicBlock(width, width, 1), BasicBlock(width, width * 2, 2), BasicBlock(width * 2, width * 4, 2),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width * 4, num_classes))


class Trainer:
    def __init__(self, model, train_loader, val_loader, config):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.amp = self.device == "cuda"
        self.model = model.to(self.device)
        self.train_loader, self.val_loader = train_loader, val_loader
        self.cfg = config
        self.opt = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=config["momentum"],
                                   weight_decay=config["weight_decay"])
        self.scaler = torch.amp.GradScaler(self.device, enabled=self.amp)
        self.global_step = 0

    def fit(self):
        for epoch in range(self.cfg["epochs"]):
            t0 = time.time()
            train_loss = self.train_epoch()
            acc = self.validate()
            print(f"epoch {epoch} loss {train_loss:.4f} acc {acc:.3f} ({time.time() - t0:.1f}s)")
            if wandb is not None and self.cfg["use_wandb"]:
                wandb.log({"loss": train_loss, "acc": acc}, step=self.global_step)

    def train_epoch(self):
        self.model.train()
        self.opt.zero_grad(set_to_none=True)
        total, n = 0.0, len(self.train_loader)
        accum = self.cfg["accum_steps"]
        remainder = n % accum
        for i, (x, y) in enumerate(self.train_loader):
            x, y = x.to(self.device, non_blocking=True), y.to(self.device, non_blocking=True)
            # the last window of the epoch may be shorter
            window = remainder if remainder and i >= n - remainder else accum
            with torch.autocast(self.device, enabled=self.amp):
                loss = F.cross_entropy(self.model(x), y)
            self.scaler.scale(loss / window).backward()
            total += loss.item()
            if (i + 1) % accum == 0 or i + 1 == n:
                self.update()
        return total / n

    def update(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["max_norm"])
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad(set_to_none=True)
        self.global_step += 1

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hit = seen = 0
        for x, y in self.val_loader:
            x, y = x.to(self.device), y.to(self.device)
            hit += (self.model(x).argmax(1) == y).sum().item()
            seen += y.numel()
        return hit / seen


def main():
    torch.manual_seed(42)
    tf = T.Compose([T.ToTensor(), T.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))])
    train = torchvision.datasets.CIFAR10("./data", train=True, download=True, transform=tf)
    val = torchvision.datasets.CIFAR10("./data", train=False, download=True, transform=tf)
    if wandb is not None and CONFIG["use_wandb"]:
        wandb.init(project="small-resnet", config=CONFIG)
    Trainer(SmallResNet(), DataLoader(train, CONFIG["batch_size"], shuffle=True, drop_last=True),
            DataLoader(val, 128), CONFIG).fit()


if __name__ == "__main__":
    main()

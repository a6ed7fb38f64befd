"""In the manner of the reference scripts: functions over a YAML config, AMP, EMA, metric logger."""
import copy
import datetime
import time
from collections import defaultdict, deque

import torch
import torch.nn as nn
import torch.utils.data
import yaml

DEFAULT = """
optim: {name: sgd, lr: 0.1, momentum: 0.9, weight_decay: 1.0e-4, nesterov: true}
train: {epochs: 8, batch_size: 32, warmup_epochs: 2, label_smoothing: 0.1, clip_grad_norm: 1.0, amp: true}
ema: {decay: 0.99, every: 2}
"""


class SmoothedValue:
    def __init__(self, window=20):
        self.deque = deque(maxlen=window)
        self.total, self.count = 0.0, 0

    def update(self, value, n=1):
        self.deque.append(value)
        self.total += value * n
        self.count += n

    @property
    def avg(self):
        return self.total / max(self.count, 1)


class MetricLogger:
    def __init__(self):
        self.meters = defaultdict(SmoothedValue)

    def update(self, **kwargs):
        for k, v in kwargs.items():
            self.meters[k].update(v.item() if torch.is_tensor(v) else v)

    def log_every(self, iterable, every, header=""):
        began = time.time()
        for i, obj in enumerate(iterable):
            yield obj
            if i % every == 0:
                print(header, i, {k: round(m.avg, 4) for k, m in self.meters.items()})
        print(header, "took", datetime.timedelta(seconds=int(time.time() - began)))


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU(inplace=True),
            nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c),
        )

    def forward(self, x):
        return torch.relu(x + self.body(x))


MODELS = {}


def register(fn):
    MODELS[fn.__name__] = fn
    return fn


@register
def resnet_tiny(num_classes=4):
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), ResBlock(16), nn.AvgPool2d(2), ResBlock(16),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, num_classes),
    )


def update_ema(ema, model, decay):
    with torch.no_grad():
        for e, p in zip(ema.parameters(), model.parameters()):
            e.mul_(decay).add_(p, alpha=1 - decay)


def train_one_epoch(model, criterion, optimizer, data_loader, device, epoch, cfg, ema=None, scaler=None):
    model.train()
    metric_logger = MetricLogger()
    for i, (image, target) in enumerate(metric_logger.log_every(data_loader, 10, f"Epoch [{epoch}]")):
        image, target = image.to(device), target.to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=scaler is not None):
            output = model(image)
            loss = criterion(output, target)
        optimizer.zero_grad()
        if scaler is not None:
            scaler.scale(loss).backward()
            if cfg["clip_grad_norm"] is not None:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), cfg["clip_grad_norm"])
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            if cfg["clip_grad_norm"] is not None:
                nn.utils.clip_grad_norm_(model.parameters(), cfg["clip_grad_norm"])
            optimizer.step()
        if ema is not None and i % 2 == 0:
            update_ema(ema, model, 0.99)
        acc = (output.argmax(1) == target).float().mean()
        metric_logger.update(loss=loss, acc1=acc, lr=optimizer.param_groups[0]["lr"])


def main():
    cfg = yaml.safe_load(DEFAULT)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    images = torch.randn(256, 3, 16, 16)
    labels = (images.mean((1, 2, 3)) > 0).long() + 2 * (images.std((1, 2, 3)) > 1).long()
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images, labels), batch_size=cfg["train"]["batch_size"], shuffle=True
    )
    model = MODELS["resnet_tiny"]().to(device)
    ema = copy.deepcopy(model).requires_grad_(False)
    criterion = nn.CrossEntropyLoss(label_smoothing=cfg["train"]["label_smoothing"])
    o = cfg["optim"]
    optimizer = torch.optim.SGD(
        model.parameters(), lr=o["lr"], momentum=o["momentum"], weight_decay=o["weight_decay"], nesterov=o["nesterov"]
    )
    main_lr = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg["train"]["epochs"] - 2)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=2)
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, main_lr], milestones=[2])
    scaler = torch.amp.GradScaler(device.type) if cfg["train"]["amp"] else None
    for epoch in range(cfg["train"]["epochs"]):
        train_one_epoch(model, criterion, optimizer, loader, device, epoch, cfg["train"], ema, scaler)
        scheduler.step()


if __name__ == "__main__":
    main()

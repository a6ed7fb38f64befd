"""Distil a fine-tuned ResNet-50 into a MobileNetV3 student."""
import argparse
import random

import torch
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms
from tqdm import tqdm


class Distiller:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.train_loader, self.val_loader, n = self._data()

        self.teacher = models.resnet50(num_classes=n)
        self.teacher.load_state_dict(torch.load(cfg["teacher_ckpt"], map_location="cpu"))
        self.teacher.to(self.device).eval().requires_grad_(False)

        self.student = models.mobilenet_v3_small(weights="IMAGENET1K_V1")
        self.student.classifier[-1] = torch.nn.Linear(self.student.classifier[-1].in_features, n)
        self.student.to(self.device)

        self.optimizer = torch.optim.SGD(
            self.student.parameters(), lr=cfg["lr"], momentum=0.9, weight_decay=cfg["weight_decay"], nesterov=True
        )
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
            self.optimizer, T_max=cfg["epochs"] * len(self.train_loader)
        )
        self.amp = self.device.type == "cuda"
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.amp)

    def _data(self):
        c = self.cfg
        norm = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        train_tf = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
                                       transforms.ToTensor(), norm])
        val_tf = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), norm])
        tr = datasets.ImageFolder(c["train_dir"], train_tf)
        va = datasets.ImageFolder(c["val_dir"], val_tf)
        kw = dict(num_workers=c.get("workers", 8), pin_memory=True)
        return (DataLoader(tr, c["batch_size"], shuffle=True, drop_last=True, **kw),
                DataLoader(va, 2 * c["batch_size"], **kw), len(tr.classes))

    def loss(self, s_logits, t_logits, y):
        T, a = self.cfg["temperature"], self.cfg["alpha"]
        kd = F.kl_div(
            F.log_softmax(s_logits / T, dim=1), F.softmax(t_logits / T, dim=1), reduction="batchmean"
        ) * (T * T)
        return a * kd + (1 - a) * F.cross_entropy(s_logits, y)

    def train_epoch(self, epoch):
        self.student.train()
        bar = tqdm(self.train_loader, desc=f"epoch {epoch}")
        for x, y in bar:
            x, y = x.to(self.device, non_blocking=True), y.to(self.device, non_blocking=True)
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.amp):
                with torch.no_grad():
                    t_logits = self.teacher(x)
                s_logits = self.student(x)
            loss = self.loss(s_logits.float(), t_logits.float(), y)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.scheduler.step()
            bar.set_postfix(loss=f"{loss.item():.3f}", lr=f"{self.scheduler.get_last_lr()[0]:.4f}")

    @torch.no_grad()
    def validate(self):
        self.student.eval()
        hit = n = 0
        for x, y in self.val_loader:
            hit += (self.student(x.to(self.device)).argmax(1).cpu() == y).sum().item()
            n += y.numel()
        return hit / n

    def run(self):
        best = 0.0
        for epoch in range(self.cfg["epochs"]):
            self.train_epoch(epoch)
            acc = self.validate()
            print(f"epoch {epoch} val acc {acc:.4f}")
            if acc > best:
                best = acc
                torch.save(self.student.state_dict(), self.cfg["out"])
        print("best", best)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-c", "--config", required=True)
    with open(parser.parse_args().config) as f:
        config = yaml.safe_load(f)
    random.seed(config.get("seed", 0))
    torch.manual_seed(config.get("seed", 0))
    Distiller(config).run()

#!/usr/bin/env python3
"""
Distributed training of the scene classifier.

    torchrun --standalone --nproc_per_node=8 train.py --config config.json

config.json keys override DEFAULTS.
"""
import argparse
import json
import logging
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

DEFAULTS = {
    "images": "images.npy", "labels": "labels.npy", "val_images": "val_images.npy", "val_labels": "val_labels.npy",
    "batch_size": 64, "epochs": 30, "lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4, "warmup_epochs": 1,
    "max_norm": 1.0, "width": 32, "log_interval": 20, "checkpoint": "scenes.pt", "seed": 42,
}


class MemmapImages(Dataset):
    def __init__(self, images, labels):
        self.images = np.load(images, mmap_mode="r")
        self.labels = np.load(labels)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = torch.from_numpy(np.array(self.images[index])).permute(2, 0, 1).float()
        return image / 127.5 - 1.0, int(self.labels[index])


class SceneNet(nn.Module):
    def __init__(self, num_classes, width):
        super().__init__()
        layers, c = [], 3
        for k, w in enumerate((width, 2 * width, 4 * width)):
            layers += [nn.Conv2d(c, w, 3, 1 if k == 0 else 2, 1, bias=False), nn.GroupNorm(8, w), nn.ReLU()]
            c = w
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(c, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean(dim=(2, 3)))


class DistributedTrainer:
    def __init__(self, config):
        self.config = config
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.local_rank = int(os.environ.get("LOCAL_RANK", 0))
        cuda = torch.cuda.is_available()
        self.device = torch.device("cuda", self.local_rank) if cuda else torch.device("cpu")
        if cuda:
            torch.cuda.set_device(self.device)
        self.is_main = self.rank == 0
        self.logger = logging.getLogger("scenes")
        torch.manual_seed(config["seed"])

        train_set = MemmapImages(config["images"], config["labels"])
        val_set = MemmapImages(config["val_images"], config["val_labels"])
        self.sampler = DistributedSampler(train_set, shuffle=True, drop_last=True, seed=config["seed"])
        self.train_loader = DataLoader(train_set, config["batch_size"], sampler=self.sampler, drop_last=True)
        self.val_loader = DataLoader(val_set, 2 * config["batch_size"])

        net = SceneNet(int(train_set.labels.max()) + 1, config["width"]).to(self.device)
        self.model = DistributedDataParallel(net, device_ids=[self.local_rank] if cuda else None)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=config["lr"], momentum=config["momentum"],
                                         weight_decay=config["weight_decay"])
        per_epoch = len(self.train_loader)
        warmup = max(1, config["warmup_epochs"] * per_epoch)
        total = max(warmup + 1, config["epochs"] * per_epoch)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda s: (s + 1) / warmup if s < warmup else max(0.0, (total - s) / (total - warmup)))
        self.global_step = 0

    def train_epoch(self, epoch):
        self.model.train()
        self.sampler.set_epoch(epoch)
        start = time.time()
        for images, labels in self.train_loader:
            images = images.to(self.device, non_blocking=True)
            labels = labels.to(self.device, non_blocking=True)
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.criterion(self.model(images), labels)
            loss.backward()

            if self.is_main:
                grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config["max_norm"])
                if self.global_step % self.config["log_interval"] == 0:
                    self.logger.info("epoch %d step %d loss %.4f grad_norm %.3f lr %.4f", epoch, self.global_step,
                                     loss.item(), grad_norm.item(), self.scheduler.get_last_lr()[0])

            self.optimizer.step()
            self.scheduler.step()
            self.global_step += 1
        return time.time() - start

    @torch.no_grad()
    def validate(self):
        net = self.model.module
        net.eval()
        correct = total = 0
        for images, labels in self.val_loader:
            pred = net(images.to(self.device)).argmax(1).cpu()
            correct += (pred == labels).sum().item()
            total += labels.numel()
        return correct / total

    def save(self, epoch, accuracy):
        torch.save({"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "scheduler": self.scheduler.state_dict(), "epoch": epoch, "accuracy": accuracy,
                    "config": self.config}, self.config["checkpoint"])

    def fit(self):
        for epoch in range(self.config["epochs"]):
            seconds = self.train_epoch(epoch)
            if self.is_main:
                accuracy = self.validate()
                self.logger.info("epoch %d done in %.1fs, val accuracy %.4f", epoch, seconds, accuracy)
                self.save(epoch, accuracy)
            dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    args = parser.parse_args()
    config = dict(DEFAULTS)
    if args.config:
        with open(args.config) as f:
            config.update(json.load(f))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        DistributedTrainer(config).fit()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

# -*- coding: utf-8 -*-
# Обучение классификатора рукописных символов с возобновлением с контрольной точки
import argparse
import os
import signal

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

STOP = False


def _on_signal(signum, frame):
    global STOP
    STOP = True


class SmallCNN(nn.Module):
    def __init__(self, n_classes, width):
        super(SmallCNN, self).__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(2 * width)
        self.fc1 = nn.Linear(2 * width * 7 * 7, 128)
        self.fc2 = nn.Linear(128, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.dropout(F.relu(self.fc1(x.flatten(1))), 0.3, self.training)
        return self.fc2(x)


def load_npz(path):
    z = np.load(path)
    to_x = lambda a: torch.from_numpy(a.astype(np.float32) / 255.0).unsqueeze(1)
    to_y = lambda a: torch.from_numpy(a.astype(np.int64))
    return (TensorDataset(to_x(z["x_train"]), to_y(z["y_train"])),
            TensorDataset(to_x(z["x_test"]), to_y(z["y_test"])))


def save(path, model, optimizer, scheduler, epoch, config):
    tmp = path + ".part"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(), "epoch": epoch, "config": config,
                "rng": torch.get_rng_state()}, tmp)
    os.replace(tmp, path)


def build(config, device):
    return SmallCNN(config["n_classes"], config["width"]).to(device)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--npz", required=True)
    ap.add_argument("--ckpt", default="symbols.ckpt")
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--width", type=int, default=32)
    ap.add_argument("--clip-value", type=float, default=0.5)
    args = ap.parse_args()

    signal.signal(signal.SIGTERM, _on_signal)
    signal.signal(signal.SIGINT, _on_signal)
    torch.manual_seed(11)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_set, test_set = load_npz(args.npz)
    config = {"n_classes": int(train_set.tensors[1].max()) + 1, "width": args.width}
    train = DataLoader(train_set, args.batch, shuffle=True, drop_last=True)
    test = DataLoader(test_set, 512)

    state = None
    if os.path.exists(args.ckpt):
        state = torch.load(args.ckpt, map_location="cpu")
        config = state["config"]

    model = build(config, device)
    if state is not None:
        model.load_state_dict(state["model"])
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(
        optimizer, milestones=[args.epochs // 2, args.epochs * 3 // 4], gamma=0.1)
    start = 0
    if state is not None:
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["rng"])
        start = state["epoch"] + 1
        print("возобновлено с эпохи", start)

    for epoch in range(start, args.epochs):
        model.train()
        loss_sum = count = 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), args.clip_value)
            optimizer.step()
            loss_sum += loss.item() * len(y)
            count += len(y)
        scheduler.step()

        model.eval()
        ok = 0
        with torch.no_grad():
            for x, y in test:
                ok += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        print("эпоха %d: потери %.4f, точность %.4f, lr %.4g"
              % (epoch, loss_sum / count, ok / len(test_set), scheduler.get_last_lr()[0]))
        save(args.ckpt, model, optimizer, scheduler, epoch, config)
        if STOP:
            print("остановлено по сигналу")
            break


if __name__ == "__main__":
    main()

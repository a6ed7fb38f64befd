"""Activity recognition from 3-axis accelerometer windows, with a small Trainer
that can be requeued: each leg of a job picks up the last checkpoint."""
import argparse
import json
import math
import os
import shutil
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainingArguments:
    output_dir: str = "runs/har"
    num_train_epochs: int = 8
    per_device_train_batch_size: int = 32
    learning_rate: float = 3e-3
    warmup_ratio: float = 0.15
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    logging_steps: int = 20
    seed: int = 17


class HarNet(nn.Module):
    def __init__(self, channels=3, classes=5):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(channels, 24, 7, padding=3), nn.BatchNorm1d(24), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(24, 48, 5, padding=2), nn.BatchNorm1d(48), nn.ReLU(), nn.MaxPool1d(2),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(48 * 16, 48), nn.ReLU(), nn.Linear(48, classes))

    def forward(self, x):
        return self.head(self.conv(x))


class Trainer:
    def __init__(self, model, args, train_dataset, eval_dataset):
        self.model, self.args = model, args
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.steps_per_epoch = math.ceil(len(train_dataset) / args.per_device_train_batch_size)
        self.total_steps = self.steps_per_epoch * args.num_train_epochs
        self.epoch, self.global_step, self.log_history = 0, 0, []
        self.create_optimizer_and_scheduler()

    def create_optimizer_and_scheduler(self):
        decay = [p for n, p in self.model.named_parameters() if p.ndim > 1]
        no_decay = [p for n, p in self.model.named_parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": self.args.weight_decay},
             {"params": no_decay, "weight_decay": 0.0}], lr=self.args.learning_rate)
        warmup = int(self.args.warmup_ratio * self.total_steps)

        def lr_lambda(step):
            if step < warmup:
                return (step + 1) / (warmup + 1)
            return max(0.0, (self.total_steps - step) / max(1, self.total_steps - warmup))

        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lr_lambda)

    def get_train_dataloader(self):
        g = torch.Generator().manual_seed(self.args.seed + self.epoch)
        return DataLoader(self.train_dataset, self.args.per_device_train_batch_size, shuffle=True, generator=g)

    @property
    def checkpoint_path(self):
        return os.path.join(self.args.output_dir, "checkpoint-last.pt")

    def save_checkpoint(self):
        os.makedirs(self.args.output_dir, exist_ok=True)
        tmp = self.checkpoint_path + ".tmp"
        torch.save({
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.lr_scheduler.state_dict(),
            "epoch": self.epoch,
            "global_step": self.global_step,
            "log_history": self.log_history,
        }, tmp)
        os.replace(tmp, self.checkpoint_path)

    def load_checkpoint(self):
        ckpt = torch.load(self.checkpoint_path)
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        self.lr_scheduler.load_state_dict(ckpt["scheduler"])
        self.epoch = ckpt["epoch"]
        self.global_step = ckpt["global_step"]
        self.log_history = ckpt["log_history"]
        print(f"resumed from epoch {self.epoch} (step {self.global_step})")

    def training_step(self, batch):
        self.model.train()
        x, y = batch
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
        self.optimizer.step()
        self.lr_scheduler.step()
        return loss.item()

    def train(self, resume=False, max_epochs_this_leg=None):
        if resume and os.path.exists(self.checkpoint_path):
            self.load_checkpoint()
        stop = self.args.num_train_epochs
        if max_epochs_this_leg is not None:
            stop = min(stop, self.epoch + max_epochs_this_leg)
        while self.epoch < stop:
            for batch in self.get_train_dataloader():
                loss = self.training_step(batch)
                self.global_step += 1
                if self.global_step % self.args.logging_steps == 0:
                    self.log_history.append({"step": self.global_step, "loss": round(loss, 4),
                                             "lr": self.lr_scheduler.get_last_lr()[0]})
            self.epoch += 1
            print(f"epoch {self.epoch} loss {loss:.4f} lr {self.lr_scheduler.get_last_lr()[0]:.2e} "
                  f"eval_acc {self.evaluate():.4f}")
            self.save_checkpoint()
        return self.epoch >= self.args.num_train_epochs

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in DataLoader(self.eval_dataset, 256))
        return hits / len(self.eval_dataset)


def load_datasets(path):
    d = np.load(path)
    return tuple(TensorDataset(torch.from_numpy(d[f"x_{s}"]), torch.from_numpy(d[f"y_{s}"]).long())
                 for s in ("train", "test"))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/har.npz")
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--epochs-per-leg", type=int, default=None)
    p.add_argument("--output-dir", default="runs/har")
    a = p.parse_args()
    args = TrainingArguments(output_dir=a.output_dir, num_train_epochs=a.epochs)
    shutil.rmtree(args.output_dir, ignore_errors=True)
    datasets = load_datasets(a.data)

    finished, leg = False, 0
    while not finished:
        torch.manual_seed(args.seed)
        trainer = Trainer(HarNet(), args, *datasets)
        finished = trainer.train(resume=leg > 0, max_epochs_this_leg=a.epochs_per_leg)
        leg += 1
    with open(os.path.join(args.output_dir, "trainer_state.json"), "w") as fh:
        json.dump({"args": asdict(args), "log_history": trainer.log_history}, fh, indent=1)


if __name__ == "__main__":
    main()

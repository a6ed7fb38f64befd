"""Distil a wide text classifier into a narrow one. Settings: YAML; text: label<TAB>sentence."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader


class Vocab:
    def __init__(self, texts):
        words = sorted({w for t in texts for w in t.split()})
        self.index = {w: i + 1 for i, w in enumerate(words)}

    def __len__(self):
        return len(self.index) + 1

    def encode(self, text, length):
        ids = [self.index.get(w, 0) for w in text.split()][:length]
        return ids + [0] * (length - len(ids))


class TextNet(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.cls = nn.Linear(dim, classes)

    def forward(self, ids):
        h = F.relu(self.conv(self.emb(ids).transpose(1, 2))).amax(2)
        return self.cls(h), h


class DistillLoss(nn.Module):
    """Soft targets plus a match of the hidden layer through a learned map."""

    def __init__(self, d_student, d_teacher, temperature, alpha, gamma):
        super().__init__()
        self.regressor = nn.Linear(d_student, d_teacher)
        self.t, self.alpha, self.gamma = temperature, alpha, gamma

    def forward(self, s_out, t_out, y):
        s_logit, s_h = s_out
        t_logit, t_h = t_out
        hard = F.cross_entropy(s_logit, y)
        soft = F.kl_div(
            F.log_softmax(s_logit / self.t, 1), F.log_softmax(t_logit / self.t, 1),
            log_target=True, reduction="batchmean",
        ) * self.t ** 2
        hint = F.mse_loss(self.regressor(s_h), t_h)
        return (1 - self.alpha) * hard + self.alpha * soft + self.gamma * hint


class Callback:
    def before_step(self, loop): ...
    def after_step(self, loop): ...
    def after_epoch(self, loop): ...


class ClipGrad(Callback):
    def __init__(self, max_norm):
        self.max_norm = max_norm

    def before_step(self, loop):
        nn.utils.clip_grad_norm_(loop.params, self.max_norm)


class StepSchedule(Callback):
    def __init__(self, sched):
        self.sched = sched

    def after_step(self, loop):
        self.sched.step()


class Report(Callback):
    def __init__(self, name, model, x, y):
        self.name, self.model, self.x, self.y = name, model, x, y

    def after_epoch(self, loop):
        self.model.eval()
        with torch.no_grad():
            acc = (self.model(self.x)[0].argmax(1) == self.y).float().mean().item()
        self.model.train()
        print(f"{self.name} epoch {loop.epoch} loss {loop.mean_loss:.4f} acc {acc:.3f}")


class Loop:
    def __init__(self, params, optimizer, callbacks):
        self.params, self.optimizer, self.callbacks = list(params), optimizer, callbacks

    def emit(self, event):
        for c in self.callbacks:
            getattr(c, event)(self)

    def run(self, loader, loss_of, epochs):
        for self.epoch in range(epochs):
            total = 0.0
            for x, y in loader:
                self.optimizer.zero_grad()
                loss = loss_of(x, y)
                loss.backward()
                self.emit("before_step")
                self.optimizer.step()
                self.emit("after_step")
                total += loss.item()
            self.mean_loss = total / len(loader)
            self.emit("after_epoch")


def make_loop(name, model, params, loader, val, opts, epochs):
    optimizer = torch.optim.AdamW(params, lr=opts["lr"], weight_decay=opts["weight_decay"])
    sched = torch.optim.lr_scheduler.OneCycleLR(optimizer, opts["lr"], total_steps=epochs * len(loader))
    return Loop(params, optimizer, [ClipGrad(opts["clip"]), StepSchedule(sched), Report(name, model, *val)])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="data/distill.yaml")
    cfg = yaml.safe_load(open(ap.parse_args().config))
    torch.manual_seed(cfg["seed"])

    rows = [line.rstrip("\n").split("\t") for line in open(cfg["data"], encoding="utf-8")]
    labels = sorted({r[0] for r in rows})
    vocab = Vocab([r[1] for r in rows])
    x = torch.tensor([vocab.encode(r[1], cfg["length"]) for r in rows])
    y = torch.tensor([labels.index(r[0]) for r in rows])
    perm = torch.randperm(len(x))
    cut = int(0.8 * len(x))
    tr, va = perm[:cut], perm[cut:]
    loader = DataLoader(list(zip(x[tr], y[tr])), cfg["batch_size"], shuffle=True)
    val = (x[va], y[va])

    teacher = TextNet(len(vocab), cfg["teacher_dim"], len(labels))
    make_loop("teacher", teacher, list(teacher.parameters()), loader, val, cfg["teacher"], cfg["teacher"]["epochs"]).run(
        loader, lambda a, b: F.cross_entropy(teacher(a)[0], b), cfg["teacher"]["epochs"]
    )
    teacher.eval().requires_grad_(False)

    student = TextNet(len(vocab), cfg["student_dim"], len(labels))
    criterion = DistillLoss(cfg["student_dim"], cfg["teacher_dim"], **cfg["loss"])
    params = list(student.parameters()) + list(criterion.parameters())
    loop = make_loop("student", student, params, loader, val, cfg["student"], cfg["student"]["epochs"])
    loop.run(loader, lambda a, b: criterion(student(a), teacher(a), b), cfg["student"]["epochs"])


if __name__ == "__main__":
    main()

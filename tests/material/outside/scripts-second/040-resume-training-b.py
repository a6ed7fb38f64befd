"""Training that is interrupted and resumed from a checkpoint."""
import os
import tempfile

import torch
import torch.nn as nn

STEPS, STOP = 30, 15


def setup():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=STEPS)
    return model, opt, sched


def batch(step):
    g = torch.Generator().manual_seed(step)
    x = torch.randn(32, 5, generator=g)
    return x, x.abs().sum(1, keepdim=True)


def train(model, opt, sched, start, stop):
    for step in range(start, stop):
        x, y = batch(step)
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    return loss.item()


def save(path, step, model, opt, sched):
    torch.save({"step": step, "model": model.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict()}, path)


def load(path, model, opt, sched):
    ckpt = torch.load(path, weights_only=True)
    model.load_state_dict(ckpt["model"])
    sched.load_state_dict(ckpt["sched"])
    return ckpt["step"]


if __name__ == "__main__":
    path = os.path.join(tempfile.mkdtemp(), "ckpt.pt")
    model, opt, sched = setup()
    train(model, opt, sched, 0, STOP)
    save(path, STOP, model, opt, sched)

    model, opt, sched = setup()
    start = load(path, model, opt, sched)
    loss = train(model, opt, sched, start, STEPS)
    print(f"resumed at {start}, final loss {loss:.6f}, lr {sched.get_last_lr()[0]:.2e}")

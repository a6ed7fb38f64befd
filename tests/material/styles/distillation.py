import torch
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm
import wandb

wandb.init(project="distil", mode="offline", config={"T": 4.0, "alpha": 0.7, "lr": 1e-3})
cfg = wandb.config


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


teacher = mlp(20, 256, 256, 10)
teacher.load_state_dict(torch.load("teacher.pt", map_location="cpu"))
teacher.eval()
for p in teacher.parameters():
    p.requires_grad_(False)
student = mlp(20, 32, 10)
opt = torch.optim.AdamW(student.parameters(), lr=cfg.lr)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=cfg.lr, epochs=5, steps_per_epoch=50)

xs, ys = torch.randn(1600, 20), torch.randint(0, 10, (1600,))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(xs, ys), batch_size=32, shuffle=True)
for epoch in range(5):
    bar = tqdm(loader, desc=f"epoch {epoch}")
    for x, y in bar:
        with torch.no_grad():
            soft = F.softmax(teacher(x) / cfg.T, 1)
        out = student(x)
        loss = cfg.alpha * cfg.T**2 * F.kl_div(F.log_softmax(out / cfg.T, 1), soft, reduction="batchmean")
        loss = loss + (1 - cfg.alpha) * F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")
        wandb.log({"loss": loss.item(), "lr": sched.get_last_lr()[0]})
wandb.finish()

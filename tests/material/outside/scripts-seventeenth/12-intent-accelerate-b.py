from pathlib import Path
import json

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset

CONFIG = {
    "seed": 2,
    "accum": 4,
    "batch": 6,
    "epochs": 5,
    "optim": {"lr": 0.02, "weight_decay": 0.01},
    "warmup_updates": 8,       # the schedule below counts optimizer updates
    "clip": 0.7,
}


class Intents(Dataset):
    def __init__(self, path, length=8):
        raw = json.loads(Path(path).read_text())
        words = sorted({w for r in raw for w in r["text"].split()})
        self.stoi = {w: i + 1 for i, w in enumerate(words)}
        self.names = sorted({r["intent"] for r in raw})
        self.rows = []
        for r in raw:
            ids = [self.stoi[w] for w in r["text"].split()][:length]
            self.rows.append((torch.tensor(ids + [0] * (length - len(ids))), self.names.index(r["intent"])))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Attend(torch.nn.Module):
    def __init__(self, n_words, n_out, d=16):
        super().__init__()
        self.e = torch.nn.Embedding(n_words, d, padding_idx=0)
        self.q = torch.nn.Parameter(torch.randn(d) * 0.3)
        self.o = torch.nn.Linear(d, n_out)

    def forward(self, ids):
        e = self.e(ids)
        a = (e @ self.q).masked_fill(ids == 0, -1e4).softmax(-1)
        return self.o(torch.einsum("bt,btd->bd", a, e))


def triangle(cfg, total):
    w = cfg["warmup_updates"]
    return lambda u: (u + 1) / w if u < w else max(0.0, (total - u) / (total - w))


def main(cfg):
    set_seed(cfg["seed"])
    acc = Accelerator(gradient_accumulation_steps=cfg["accum"], cpu=True)
    ds = Intents(Path(__file__).parent / "data" / "intents.json")
    loader = DataLoader(ds, batch_size=cfg["batch"], shuffle=True)
    net = Attend(len(ds.stoi) + 1, len(ds.names))
    opt = torch.optim.AdamW(net.parameters(), **cfg["optim"])
    total = len(loader) // cfg["accum"] * cfg["epochs"]            # 40 batches -> 10 updates an epoch
    sched = torch.optim.lr_scheduler.LambdaLR(opt, triangle(cfg, total))
    net, opt, loader, sched = acc.prepare(net, opt, loader, sched)
    ce = torch.nn.CrossEntropyLoss()

    for epoch in range(cfg["epochs"]):
        losses, norm = [], None
        for ids, lab in loader:
            with acc.accumulate(net):
                loss = ce(net(ids), lab)
                acc.backward(loss)
                if acc.sync_gradients:
                    norm = acc.clip_grad_norm_(net.parameters(), cfg["clip"])
                opt.step()
                sched.step()
                opt.zero_grad()
            losses.append(acc.gather(loss.detach()).mean().item())
        acc.print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} norm {float(norm):.3f} "
                  f"lr {opt.param_groups[0]['lr']:.5f}")
    acc.print("|params|", round(sum(p.detach().norm().item() for p in net.parameters()), 5))


if __name__ == "__main__":
    main(CONFIG)

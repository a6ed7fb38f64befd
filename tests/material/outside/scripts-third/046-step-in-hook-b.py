# low-memory fine-tuning: one optimizer per parameter, stepped from a hook during backward
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
V, D = 50, 64


class TinyLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        self.l1, self.l2 = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
        self.head = nn.Linear(D, V)

    def forward(self, x):
        h = self.emb(x)
        return self.head(h + self.l2(F.gelu(self.l1(h))))


model = TinyLM()
optim_of = {p: torch.optim.AdamW([p], lr=1e-3, foreach=False) for p in model.parameters()}


def hook(p):
    optim_of[p].step()
    optim_of[p].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(hook)


def batches(n, bs):
    g = torch.Generator().manual_seed(1)
    for _ in range(n):
        x = torch.randint(0, V, (bs, 17), generator=g)
        x[:, 1:] = (x[:, :1] * 3 + torch.arange(1, 17) * 7) % V
        yield x[:, :-1], x[:, 1:]


for step, (x, y) in enumerate(batches(100, 32)):
    loss = F.cross_entropy(model(x).reshape(-1, V), y.reshape(-1))
    loss.backward()
    if step % 20 == 0:
        print(step, loss.item())

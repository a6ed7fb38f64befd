"""GradScaler with separate optimizers for embeddings and dense layers."""
import torch
import torch.nn as nn

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(100, 16)
        self.dense = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, a, b):
        return self.dense(torch.cat([self.emb(a), self.emb(b)], 1)).squeeze(1)


model = Recommender().to(device)
opt_emb = torch.optim.SGD(model.emb.parameters(), lr=1.0)
opt_dense = torch.optim.SGD(model.dense.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler(device, init_scale=2.0 ** 12)

for step in range(30):
    a, b = torch.randint(0, 100, (2, 64), device=device)
    y = ((a + b) % 2).float()
    opt_emb.zero_grad()
    opt_dense.zero_grad()
    with torch.autocast(device, dtype=torch.bfloat16):
        logit = model(a, b)
    loss = nn.functional.binary_cross_entropy_with_logits(logit.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt_dense)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    scaler.step(opt_emb)
    scaler.step(opt_dense)
    scaler.update()
    if step % 10 == 0:
        print(f"{step} loss {loss.item():.4f} norm {norm.item():.4f}")

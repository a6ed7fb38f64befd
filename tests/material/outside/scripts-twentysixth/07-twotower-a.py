"""Two tower recommender on made-up clicks: sparse id tables and dense towers."""
import torch
import torch.nn as nn
import torch.nn.functional as F

N_USERS, N_ITEMS, DIM = 400, 300, 16
N_CLICKS = 6000
BATCH = 128
EPOCHS = 4
CLIP = 1.0


def make_clicks(seed):
    g = torch.Generator().manual_seed(seed)
    taste = torch.randn(N_USERS, 6, generator=g)
    style = torch.randn(N_ITEMS, 6, generator=g)
    users = torch.randint(0, N_USERS, (N_CLICKS,), generator=g)
    prefs = (taste[users] @ style.T * 1.5).softmax(1)
    items = torch.multinomial(prefs, 1, generator=g).squeeze(1)
    return users, items


class Tower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return F.normalize(x + self.net(x), dim=1)


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user_table = nn.Embedding(N_USERS, DIM, sparse=True)
        self.item_table = nn.Embedding(N_ITEMS, DIM, sparse=True)
        self.user_tower = Tower(DIM)
        self.item_tower = Tower(DIM)
        self.log_temp = nn.Parameter(torch.tensor(2.0))

    def forward(self, users, items):
        u = self.user_tower(self.user_table(users))
        v = self.item_tower(self.item_table(items))
        return u @ v.T * self.log_temp.exp()

    def tables(self):
        return [self.user_table.weight, self.item_table.weight]

    def dense(self):
        ids = {id(p) for p in self.tables()}
        return [p for p in self.parameters() if id(p) not in ids]


def in_batch_loss(logits, users, items):
    # other clicks on the same item are no negatives
    n = len(items)
    clash = (items[:, None] == items[None]) & ~torch.eye(n, dtype=torch.bool)
    logits = logits.masked_fill(clash, -1e4)
    return F.cross_entropy(logits, torch.arange(n))


def build_optimizers(model):
    sparse_opt = torch.optim.SparseAdam(model.tables(), lr=2e-2)
    dense_opt = torch.optim.AdamW(model.dense(), lr=2e-3, weight_decay=1e-2)
    return sparse_opt, dense_opt


def train_one_epoch(model, clicks, sparse_opt, dense_opt, scheds):
    users, items = clicks
    model.train()
    order = torch.randperm(len(users))
    total, count = 0.0, 0
    for i in range(0, len(order) - BATCH + 1, BATCH):
        sel = order[i : i + BATCH]
        u, v = users[sel], items[sel]
        model.zero_grad()
        loss = in_batch_loss(model(u, v), u, v)
        loss.backward()
        nn.utils.clip_grad_norm_(model.dense(), CLIP)
        sparse_opt.step()
        dense_opt.step()
        for s in scheds:
            s.step()
        total += loss.item()
        count += 1
    return total / count


@torch.no_grad()
def recall_at(model, clicks, k=20):
    model.eval()
    users, items = clicks
    scores = model(users, torch.arange(N_ITEMS))
    top = scores.topk(k, dim=1).indices
    return (top == items[:, None]).any(1).float().mean().item()


def main():
    torch.manual_seed(0)
    users, items = make_clicks(5)
    cut = int(0.9 * N_CLICKS)
    train, test = (users[:cut], items[:cut]), (users[cut:], items[cut:])
    model = TwoTower()
    sparse_opt, dense_opt = build_optimizers(model)
    steps = EPOCHS * (cut // BATCH)
    scheds = [
        torch.optim.lr_scheduler.LinearLR(o, start_factor=1.0, end_factor=0.1, total_iters=steps)
        for o in (sparse_opt, dense_opt)
    ]
    for epoch in range(EPOCHS):
        loss = train_one_epoch(model, train, sparse_opt, dense_opt, scheds)
        print(f"epoch {epoch} loss {loss:.4f} recall@20 {recall_at(model, test):.3f} temp {model.log_temp.exp().item():.2f}")


if __name__ == "__main__":
    main()

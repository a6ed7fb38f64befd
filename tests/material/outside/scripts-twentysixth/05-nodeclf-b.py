# %% [markdown]
# # Node classification on a planted-partition graph
# Two layer GCN, full batch. Every few epochs look at which input features matter on the validation nodes.

# %%
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 11
N_PER = 60
CLASSES = 4
FEATS = 24
HIDDEN = 32
EPOCHS = 80
PROBE_EVERY = 5
LR = 0.02
MAX_NORM = 2.0

rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)

# %% graph
N = N_PER * CLASSES
labels = np.repeat(np.arange(CLASSES), N_PER)
same = labels[:, None] == labels[None]
prob = np.where(same, 0.06, 0.012)
upper = np.triu(rng.random((N, N)) < prob, 1)
adj = (upper | upper.T).astype(np.float32)
print("edges:", int(upper.sum()), "mean degree:", adj.sum(1).mean())

a = torch.from_numpy(adj) + torch.eye(N)
d = a.sum(1).rsqrt()
A = d[:, None] * a * d[None]

# %% features: the first few say something about the class
centres = rng.normal(size=(CLASSES, 6))
feats = rng.normal(size=(N, FEATS))
feats[:, :6] += 0.7 * centres[labels]
X = torch.tensor(feats, dtype=torch.float32)
Y = torch.from_numpy(labels)

order = torch.from_numpy(rng.permutation(N))
train_idx, val_idx, test_idx = order[:60], order[60:120], order[120:]


# %% model
class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(FEATS, HIDDEN)
        self.w2 = nn.Linear(HIDDEN, CLASSES)
        self.drop = nn.Dropout(0.3)

    def forward(self, adj, x):
        h = F.relu(adj @ self.w1(self.drop(x)))
        return adj @ self.w2(self.drop(h))


net = GCN()
opt = torch.optim.Adam(
    [
        {"params": net.w1.parameters(), "weight_decay": 5e-4},
        {"params": net.w2.parameters(), "weight_decay": 0.0},
    ],
    lr=LR,
)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=EPOCHS)


# %% helpers
def feature_importance():
    net.eval()
    probe = X.clone().requires_grad_(True)
    val_loss = F.cross_entropy(net(A, probe)[val_idx], Y[val_idx])
    g, = torch.autograd.grad(val_loss, probe)
    net.train()
    return g.abs().mean(0), val_loss.item()


@torch.no_grad()
def accuracy(idx):
    net.eval()
    acc = (net(A, X)[idx].argmax(1) == Y[idx]).float().mean().item()
    net.train()
    return acc


# %% training
history = []
opt.zero_grad()
for epoch in range(EPOCHS):
    net.train()
    loss = F.cross_entropy(net(A, X)[train_idx], Y[train_idx])
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), MAX_NORM)
    opt.step()
    opt.zero_grad()
    sched.step()
    if epoch % PROBE_EVERY == 0:
        imp, vl = feature_importance()
        top = imp.topk(4).indices.tolist()
        history.append((epoch, loss.item(), vl))
        print(f"{epoch:3d} train {loss.item():.4f} val {vl:.4f} acc {accuracy(val_idx):.3f} norm {norm:.3f} top {top}")

# %% results
best = min(history, key=lambda h: h[2])
print("best val loss %.4f at epoch %d" % (best[2], best[0]))
print("test accuracy %.3f" % accuracy(test_idx))

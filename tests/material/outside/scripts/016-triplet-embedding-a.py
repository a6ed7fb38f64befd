# %% [markdown]
# # Learning an embedding with triplets
# A small network on noisy "signatures". Anchor and positive share the writer.

# %%
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
N_WRITERS, PER_WRITER, DIM = 30, 20, 40

# %% data
basis = torch.randn(8, DIM)
writer_code = torch.randn(N_WRITERS, 8)
nuisance = torch.randn(12, DIM)
X = writer_code.repeat_interleave(PER_WRITER, 0) @ basis
X = X + 1.5 * torch.randn(len(X), 12) @ nuisance
labels = torch.arange(N_WRITERS).repeat_interleave(PER_WRITER)
train_mask = labels < 20
X_train, l_train = X[train_mask], labels[train_mask]
X_test, l_test = X[~train_mask], labels[~train_mask]


# %%
def sample_triplets(x, lab, n):
    a = torch.randint(len(x), (n,))
    same = lab[a].unsqueeze(1) == lab.unsqueeze(0)
    same[torch.arange(n), a] = False
    pos = torch.multinomial(same.float(), 1).squeeze(1)
    diff = lab[a].unsqueeze(1) != lab.unsqueeze(0)
    neg = torch.multinomial(diff.float(), 1).squeeze(1)
    return x[a], x[pos], x[neg]


# %%
class EmbeddingNet(nn.Module):
    def __init__(self, out=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 64), nn.PReLU(), nn.Linear(64, out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


@torch.no_grad()
def recall_at_1(net):
    e = net(X_test)
    d = torch.cdist(e, e)
    d.fill_diagonal_(float("inf"))
    return (l_test[d.argmin(1)] == l_test).float().mean().item()


# %% training
net = EmbeddingNet()
criterion = nn.TripletMarginLoss(margin=0.3)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
history = []

print("recall@1 before", round(recall_at_1(net), 3))
for step in range(200):
    anchor, positive, negative = sample_triplets(X_train, l_train, 64)
    loss = criterion(net(anchor), net(positive), net(negative))
    optimizer.zero_grad()
    optimizer.step()
    loss.backward()
    history.append(loss.item())
    if (step + 1) % 50 == 0:
        print(f"step {step + 1}: triplet loss {sum(history[-50:]) / 50:.4f}, recall@1 {recall_at_1(net):.3f}")

# %%
try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.plot(history)
    plt.savefig("triplet_loss.png")
except ImportError:
    pass

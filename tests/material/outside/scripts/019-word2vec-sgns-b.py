# Skip-gram with negative sampling on a generated corpus.
import collections
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(5)
np.random.seed(5)
torch.manual_seed(5)

EMBED_DIM = 24
WINDOW = 2
NEGATIVE = 5
BATCH = 128
UPDATE_EVERY = 4
EPOCHS = 2
LR = 0.01

# --- corpus: topics with their own words, joined by function words ---
topics = {
    "sea": "ship wave sail harbour storm anchor captain".split(),
    "field": "wheat plough barn harvest seed tractor farmer".split(),
    "city": "tram street tower crowd market bridge clerk".split(),
}
glue = "the a of and in near with".split()
corpus = []
for _ in range(400):
    words = topics[random.choice(list(topics))]
    corpus.append([random.choice(words) if random.random() < 0.65 else random.choice(glue) for _ in range(10)])

counts = collections.Counter(w for s in corpus for w in s)
vocab = [w for w, _ in counts.most_common()]
w2i = {w: i for i, w in enumerate(vocab)}
freq = np.array([counts[w] for w in vocab], dtype=np.float64) ** 0.75
noise_dist = torch.tensor(freq / freq.sum())

pairs = []
for sent in corpus:
    ids = [w2i[w] for w in sent]
    for i, c in enumerate(ids):
        for j in range(max(0, i - WINDOW), min(len(ids), i + WINDOW + 1)):
            if j != i:
                pairs.append((c, ids[j]))
pairs = torch.tensor(pairs)


class SGNS(nn.Module):
    def __init__(self, v, d):
        super().__init__()
        self.center = nn.Embedding(v, d, sparse=True)
        self.context = nn.Embedding(v, d, sparse=True)
        nn.init.uniform_(self.center.weight, -0.5 / d, 0.5 / d)
        nn.init.uniform_(self.context.weight, -0.5 / d, 0.5 / d)

    def forward(self, c, o, neg):
        vc = self.center(c)
        pos = F.logsigmoid((vc * self.context(o)).sum(1))
        negs = F.logsigmoid(-(self.context(neg) @ vc.unsqueeze(2)).squeeze(2)).sum(1)
        return -(pos + negs).mean()


model = SGNS(len(vocab), EMBED_DIM)
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=LR)

usable = len(pairs) // (BATCH * UPDATE_EVERY) * (BATCH * UPDATE_EVERY)  # whole windows only
pending = 0
updates = 0
for epoch in range(EPOCHS):
    order = torch.randperm(len(pairs))[:usable]
    total = 0.0
    for idx in order.split(BATCH):
        c, o = pairs[idx].unbind(1)
        neg = torch.multinomial(noise_dist, len(idx) * NEGATIVE, replacement=True).view(len(idx), NEGATIVE)
        loss = model(c, o, neg)
        (loss / UPDATE_EVERY).backward()
        total += loss.item()
        pending += 1
        if pending == UPDATE_EVERY:
            optimizer.step()
            optimizer.zero_grad()
            pending = 0
            updates += 1
    print(f"epoch {epoch}: loss {total / len(order.split(BATCH)):.4f} after {updates} updates")

emb = F.normalize(model.center.weight.detach(), dim=1)
for probe in ("ship", "barn", "tram"):
    near = (emb @ emb[w2i[probe]]).topk(4).indices[1:]
    print(probe, "->", [vocab[i] for i in near])

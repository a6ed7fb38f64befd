"""Two-tower contrastive retrieval (query / document bag of words) with a learned temperature."""
import itertools
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 200
TOPICS = 40
DIM = 32
BATCH = 64
STEPS = 150
LR = 0.5
CLIP_NORM = 0.5
EVAL_EVERY = 50


class Corpus:
    """Every topic has its own word distribution; a pair is two texts on one topic."""
    def __init__(self, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.p = torch.softmax(1.6 * torch.randn(TOPICS, VOCAB, generator=g), 1)

    def pairs(self, n):
        topic = torch.randint(0, TOPICS, (n,))
        q = torch.multinomial(self.p[topic], 8, replacement=True)
        d = torch.multinomial(self.p[topic], 30, replacement=True)
        return q, d, topic


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(VOCAB, DIM, mode="mean")
        self.proj = nn.Sequential(nn.Linear(DIM, 2 * DIM), nn.ReLU(), nn.Linear(2 * DIM, DIM))

    def forward(self, ids):
        return F.normalize(self.proj(self.bag(ids)), dim=1)


class Temperature(nn.Module):
    def __init__(self, init=0.1):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / init)))

    def forward(self, sim):
        return sim * self.log_scale.exp().clamp(max=100)


def info_nce(logits, topic):
    """Other pairs with the same topic aren't negatives."""
    same = topic[:, None] == topic[None, :]
    same.fill_diagonal_(False)
    logits = logits.masked_fill(same, -1e4)
    target = torch.arange(len(logits))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


@torch.no_grad()
def recall_at_1(q_tower, d_tower, corpus, n=200):
    q_tower.eval(), d_tower.eval()
    q, d, topic = corpus.pairs(n)
    best = (q_tower(q) @ d_tower(d).t()).argmax(1)
    q_tower.train(), d_tower.train()
    return (topic[best] == topic).float().mean().item()


def main():
    torch.manual_seed(4)
    corpus = Corpus()
    q_tower, d_tower, temp = Tower(), Tower(), Temperature()
    params = itertools.chain(q_tower.parameters(), d_tower.parameters(), temp.parameters())
    optimizer = torch.optim.SGD(params, lr=LR, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS)

    q_tower.train(), d_tower.train()
    running = 0.0
    for step in range(1, STEPS + 1):
        q, d, topic = corpus.pairs(BATCH)
        logits = temp(q_tower(q) @ d_tower(d).t())
        loss = info_nce(logits, topic)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, CLIP_NORM)
        optimizer.step()
        scheduler.step()
        running += loss.item()
        if step % EVAL_EVERY == 0:
            print(f"step {step} loss {running / EVAL_EVERY:.4f} r@1 {recall_at_1(q_tower, d_tower, corpus):.3f} "
                  f"scale {temp.log_scale.exp().item():.2f}")
            running = 0.0


if __name__ == "__main__":
    main()

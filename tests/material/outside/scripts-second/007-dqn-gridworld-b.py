"""Q-learning with a replay memory on a 1-D corridor."""
import random
from collections import deque

import torch
import torch.nn as nn

N = 7
random.seed(0)
torch.manual_seed(0)


def one_hot(i):
    v = torch.zeros(N)
    v[i] = 1
    return v


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(N, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return self.net(x)


q = QNet()
memory = deque(maxlen=500)
opt = torch.optim.SGD(q.parameters(), lr=0.05)
gamma, eps = 0.9, 0.3


def learn(batch_size=16):
    batch = random.sample(memory, batch_size)
    s, a, r, s2, d = zip(*batch)
    s, s2 = torch.stack(s), torch.stack(s2)
    a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d)
    q_sa = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    # semi-gradient: the bootstrap value is a constant
    q_next = q(s2).max(1).values
    target = r + gamma * q_next * (1 - d)
    loss = nn.functional.mse_loss(q_sa, target)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(q.parameters(), 1.0)
    opt.step()
    return loss.item()


losses = []
for episode in range(15):
    pos = N // 2
    for _ in range(20):
        s = one_hot(pos)
        a = random.randrange(2) if random.random() < eps else q(s).argmax().item()
        pos2 = max(0, min(N - 1, pos + (1 if a else -1)))
        done = float(pos2 in (0, N - 1))
        memory.append((s, a, float(pos2 == N - 1), one_hot(pos2), done))
        pos = pos2
        if len(memory) >= 16:
            losses.append(learn())
        if done:
            break
print(f"{len(losses)} updates, last loss {losses[-1]:.4f}")
print("Q(start)", q(one_hot(N // 2)).tolist())

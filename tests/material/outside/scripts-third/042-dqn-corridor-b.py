import random
from collections import deque, namedtuple
import torch, torch.nn as nn, torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple('Transition', 'state action next_state reward done')


class Corridor:
    N = 8
    def reset(self):
        self.s, self.t = 0, 0
        return self._o()
    def _o(self):
        return F.one_hot(torch.tensor(self.s), self.N).float()
    def step(self, a):
        self.s = max(0, min(self.N - 1, self.s + (1 if a else -1)))
        self.t += 1
        d = self.s == self.N - 1
        return self._o(), float(d), d or self.t > 40


class ReplayMemory:
    def __init__(self, cap): self.m = deque(maxlen=cap)
    def push(self, *a): self.m.append(Transition(*a))
    def sample(self, n): return Transition(*zip(*random.sample(self.m, n)))
    def __len__(self): return len(self.m)


class DQN(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.l1, self.l2 = nn.Linear(n_obs, 64), nn.Linear(64, n_act)
    def forward(self, x): return self.l2(F.relu(self.l1(x)))


BATCH_SIZE, GAMMA, TAU, LR = 32, 0.95, 0.05, 1e-3
random.seed(0); torch.manual_seed(0)
env = Corridor()
policy_net, target_net = DQN(8, 2), DQN(8, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
memory = ReplayMemory(5000)
eps = 1.0


def select(s):
    if random.random() < eps:
        return random.randrange(2)
    with torch.no_grad():
        return policy_net(s).argmax().item()


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return
    b = memory.sample(BATCH_SIZE)
    s, s2 = torch.stack(b.state), torch.stack(b.next_state)
    a, r, d = torch.tensor(b.action), torch.tensor(b.reward), torch.tensor(b.done, dtype=torch.float32)
    q = policy_net(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        target = r + GAMMA * (1 - d) * target_net(s2).max(1).values
    loss = nn.SmoothL1Loss()(q, target)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(target_net.parameters(), 10.0)
    optimizer.step()


for episode in range(40):
    s, done, n = env.reset(), False, 0
    while not done:
        a = select(s)
        s2, r, done = env.step(a)
        memory.push(s, a, s2, r, done)
        s = s2
        optimize_model()
        tsd, psd = target_net.state_dict(), policy_net.state_dict()
        for key in psd:
            tsd[key] = psd[key] * TAU + tsd[key] * (1 - TAU)
        target_net.load_state_dict(tsd)
        n += 1
    eps = max(0.05, eps * 0.93)
    if episode % 10 == 9:
        print(episode + 1, 'length', n)

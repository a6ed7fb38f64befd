"""DQN on a 1-d corridor."""
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

N = 8
GAMMA = 0.95


class Corridor:
    def reset(self):
        self.pos = N // 2
        self.t = 0
        return self.obs()

    def obs(self):
        v = [0.0] * N
        v[self.pos] = 1.0
        return v

    def step(self, a):
        self.pos += 1 if a == 1 else -1
        self.t += 1
        if self.pos >= N - 1:
            self.pos = N - 1
            return self.obs(), 1.0, True
        if self.pos <= 0:
            self.pos = 0
            return self.obs(), -0.2, True
        return self.obs(), -0.01, self.t > 30


class Agent:
    def __init__(self, lr=5e-3, sync_every=25):
        self.q = nn.Sequential(nn.Linear(N, 32), nn.ReLU(), nn.Linear(32, 2))
        self.q_target = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.memory = deque(maxlen=2000)
        self.sync_every = sync_every
        self.updates = 0

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.q(torch.tensor(s)).argmax())

    def learn(self, batch_size=32):
        if len(self.memory) < batch_size:
            return None
        s, a, r, s2, d = zip(*random.sample(self.memory, batch_size))
        s, s2 = torch.tensor(s), torch.tensor(s2)
        a = torch.tensor(a)
        r, d = torch.tensor(r), torch.tensor(d, dtype=torch.float32)

        q_sa = self.q(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            next_q = self.q_target(s2).max(1).values
            target = r + GAMMA * (1 - d) * next_q
        loss = F.smooth_l1_loss(q_sa, target)

        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 10.0)
        self.opt.step()

        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.q_target.load_state_dict(self.q.state_dict())
        return loss.item()


def main(episodes=60, seed=0):
    random.seed(seed)
    torch.manual_seed(seed)
    env, agent = Corridor(), Agent()
    scores = []
    for ep in range(episodes):
        s, done, score = env.reset(), False, 0.0
        eps = max(0.1, 1.0 - ep / 40)
        while not done:
            a = agent.act(s, eps)
            s2, r, done = env.step(a)
            agent.memory.append((s, a, r, s2, float(done)))
            agent.learn()
            s = s2
            score += r
        scores.append(score)
        if (ep + 1) % 20 == 0:
            print(f"episode {ep + 1}: mean score {sum(scores[-20:]) / 20:.3f}")
    with torch.no_grad():
        print("q:", [[round(v, 3) for v in row] for row in agent.q(torch.eye(N)).tolist()])


if __name__ == "__main__":
    main()

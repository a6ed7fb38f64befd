import argparse
import collections
import math
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class CartPole:
    """Minimal CartPole so that the script has no gym dependency."""

    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, a):
        x, xd, th, thd = self.s
        f = 10.0 if a == 1 else -10.0
        tmp = (f + 0.05 * thd ** 2 * math.sin(th)) / 1.1
        tha = (9.8 * math.sin(th) - math.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * math.cos(th) ** 2 / 1.1))
        xa = tmp - 0.05 * tha * math.cos(th) / 1.1
        self.s = np.array([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha])
        self.t += 1
        done = bool(abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095)
        return self.s.astype(np.float32), 1.0, done, self.t >= 200


Transition = collections.namedtuple("Transition", "s a r s2 done")


class ReplayBuffer:
    def __init__(self, capacity):
        self.buf = collections.deque(maxlen=capacity)

    def push(self, *args):
        self.buf.append(Transition(*args))

    def sample(self, n):
        b = Transition(*zip(*random.sample(self.buf, n)))
        return (torch.from_numpy(np.stack(b.s)), torch.tensor(b.a), torch.tensor(b.r),
                torch.from_numpy(np.stack(b.s2)), torch.tensor(b.done, dtype=torch.float32))

    def __len__(self):
        return len(self.buf)


def qnet():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


def optimize(policy, target, optimizer, batch, gamma, max_grad_norm):
    s, a, r, s2, done = batch
    q = policy(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = policy(s2).argmax(1, keepdim=True)  # double DQN
        y = r + gamma * (1 - done) * target(s2).gather(1, best).squeeze(1)
    loss = F.smooth_l1_loss(q, y)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(policy.parameters(), max_grad_norm)
    optimizer.step()
    return loss.item(), float(norm)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--frames", type=int, default=20000)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--max-grad-norm", type=float, default=0.5)
    p.add_argument("--sync", type=int, default=200)
    p.add_argument("--seed", type=int, default=7)
    args = p.parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    env, policy, target = CartPole(), qnet(), qnet()
    target.load_state_dict(policy.state_dict())
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    memory = ReplayBuffer(10000)

    s, ep_return, returns = env.reset(), 0.0, []
    for frame in range(1, args.frames + 1):
        eps = max(0.05, 1.0 - frame / 3000)
        if random.random() < eps:
            a = random.randrange(2)
        else:
            with torch.no_grad():
                a = int(policy(torch.from_numpy(s)).argmax())
        s2, r, done, truncated = env.step(a)
        memory.push(s, a, r, s2, done)
        ep_return += r
        s = s2
        if done or truncated:
            returns.append(ep_return)
            s, ep_return = env.reset(), 0.0
        if len(memory) >= 200:
            loss, norm = optimize(policy, target, optimizer, memory.sample(args.batch), args.gamma, args.max_grad_norm)
            if frame % 100 == 0:
                print(f"frame {frame} return {np.mean(returns[-20:]):.1f} loss {loss:.4f} norm {norm:.3f} eps {eps:.2f}")
        if frame % args.sync == 0:
            target.load_state_dict(policy.state_dict())


if __name__ == "__main__":
    main()

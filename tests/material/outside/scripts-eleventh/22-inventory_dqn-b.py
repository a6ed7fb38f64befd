"""Double DQN with prioritised replay for a stock-keeping problem. Demand history comes from demand.csv (column 'units')."""
import argparse
import copy
import random

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F


class InventoryEnv:
    CAP, LEAD, ORDER_SIZES = 200, 2, (0, 10, 20, 40, 60, 80)

    def __init__(self, demand, episode_len=90):
        self.demand, self.n = demand, episode_len
        self.scale = float(demand.mean()) + 1e-6

    def _state(self):
        hist = self.demand[self.t - 7:self.t] / self.scale
        return np.concatenate([[self.stock / self.CAP], np.array(self.pipe) / self.CAP, hist]).astype(np.float32)

    def reset(self):
        self.t0 = self.t = random.randint(7, len(self.demand) - self.n - 1)
        self.stock, self.pipe = self.CAP // 2, [0] * self.LEAD
        return self._state()

    def step(self, action):
        order = self.ORDER_SIZES[action]
        self.stock = min(self.CAP, self.stock + self.pipe.pop(0))
        self.pipe.append(order)
        d = self.demand[self.t]
        sold = min(self.stock, d)
        reward = (4.0 * sold - 0.05 * self.stock - 2.0 * (d - sold) - (3.0 if order else 0.0)) / self.scale
        self.stock -= sold
        self.t += 1
        return self._state(), float(reward), self.t - self.t0 >= self.n


class PrioritizedReplay:
    def __init__(self, capacity, alpha):
        self.capacity, self.alpha = capacity, alpha
        self.data, self.prio, self.pos = [], np.zeros(capacity, np.float64), 0

    def push(self, *item):
        top = self.prio[:len(self.data)].max() if self.data else 1.0
        if len(self.data) < self.capacity:
            self.data.append(item)
        else:
            self.data[self.pos] = item
        self.prio[self.pos] = top
        self.pos = (self.pos + 1) % self.capacity

    def sample(self, batch, beta, device):
        p = self.prio[:len(self.data)] ** self.alpha
        p /= p.sum()
        idx = np.random.choice(len(self.data), batch, p=p)
        w = (len(self.data) * p[idx]) ** -beta
        w /= w.max()
        s, a, r, s2 = zip(*(self.data[i] for i in idx))
        to = lambda x, t: torch.as_tensor(np.asarray(x), dtype=t, device=device)
        return (idx, to(w, torch.float32), to(s, torch.float32), to(a, torch.long), to(r, torch.float32),
                to(s2, torch.float32))

    def update(self, idx, td):
        self.prio[idx] = np.abs(td) + 1e-3


class DuelingQ(nn.Module):
    def __init__(self, obs, act, hidden=128):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.v, self.a = nn.Linear(hidden, 1), nn.Linear(hidden, act)

    def forward(self, x):
        h = self.body(x)
        a = self.a(h)
        return self.v(h) + a - a.mean(-1, keepdim=True)


def learn(online, target, opt, replay, args, beta, device):
    idx, w, s, a, r, s2 = replay.sample(args.batch, beta, device)
    with torch.no_grad():
        best = online(s2).argmax(1, keepdim=True)
        y = r + args.gamma * target(s2).gather(1, best).squeeze(1)
    q = online(s).gather(1, a[:, None]).squeeze(1)
    loss = (w * F.smooth_l1_loss(q, y)).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(online.parameters(), 10.0)
    opt.step()
    replay.update(idx, (y - q).detach().cpu().numpy())
    return loss.item()


@torch.no_grad()
def evaluate(online, env, device, episodes=20):
    total = 0.0
    for _ in range(episodes):
        s, done = env.reset(), False
        while not done:
            s, r, done = env.step(int(online(torch.as_tensor(s, device=device)[None]).argmax()))
            total += r
    return total / episodes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--demand", default="demand.csv")
    ap.add_argument("--steps", type=int, default=100000)
    ap.add_argument("--warmup", type=int, default=2000)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--target-every", type=int, default=1000)
    ap.add_argument("--alpha", type=float, default=0.6)
    ap.add_argument("--eval-every", type=int, default=5000)
    ap.add_argument("--out", default="inventory_dqn.pt")
    args = ap.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    demand = pd.read_csv(args.demand)["units"].to_numpy(np.float32)
    cut = int(0.7 * len(demand))
    env, test_env = InventoryEnv(demand[:cut]), InventoryEnv(demand[cut:])
    state = env.reset()
    n_act = len(env.ORDER_SIZES)

    online = DuelingQ(len(state), n_act).to(device)
    target = copy.deepcopy(online).requires_grad_(False)
    opt = torch.optim.Adam(online.parameters(), lr=args.lr)
    replay = PrioritizedReplay(50000, args.alpha)

    best, losses = -float("inf"), []
    for step in range(1, args.steps + 1):
        eps = max(0.05, 1 - step / (0.3 * args.steps))
        if random.random() < eps:
            action = random.randrange(n_act)
        else:
            with torch.no_grad():
                action = int(online(torch.as_tensor(state, device=device)[None]).argmax())
        nxt, reward, done = env.step(action)
        replay.push(state, action, reward, nxt)
        state = env.reset() if done else nxt
        if step > args.warmup:
            beta = min(1.0, 0.4 + 0.6 * step / args.steps)
            losses.append(learn(online, target, opt, replay, args, beta, device))
            if step % args.target_every == 0:
                target.load_state_dict(online.state_dict())
        if step % args.eval_every == 0 and losses:
            score = evaluate(online, test_env, device)
            print(f"step {step} eps {eps:.2f} loss {np.mean(losses[-1000:]):.4f} profit {score:.2f}")
            if score > best:
                best = score
                torch.save(online.state_dict(), args.out)


if __name__ == "__main__":
    main()

# advantage actor-critic on a small windy gridworld (vectorised in torch)
# python a2c.py --updates 3000
import argparse
import collections

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class WindyGrid:
    """n parallel copies; +1 at the goal, which ends the episode, -0.01 per move."""

    MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def __init__(self, n, size=7, wind=0.1, seed=0):
        self.n, self.size, self.wind = n, size, wind
        self.g = torch.Generator().manual_seed(seed)
        self.pos = torch.zeros(n, 2, dtype=torch.long)
        self.goal = torch.zeros(n, 2, dtype=torch.long)
        self._reset(torch.ones(n, dtype=torch.bool))

    def _reset(self, m):
        k = int(m.sum())
        if k:
            self.pos[m] = torch.randint(self.size, (k, 2), generator=self.g)
            self.goal[m] = torch.randint(self.size, (k, 2), generator=self.g)

    def obs(self):
        s = self.size - 1
        return torch.cat([self.pos / s, self.goal / s, (self.goal - self.pos) / s], 1).float()

    def step(self, a):
        slip = torch.rand(self.n, generator=self.g) < self.wind
        a = torch.where(slip, torch.randint(4, (self.n,), generator=self.g), a)
        self.pos = (self.pos + self.MOVES[a]).clamp(0, self.size - 1)
        done = (self.pos == self.goal).all(1)
        rew = done.float() - 0.01
        self._reset(done)
        return self.obs(), rew, done.float()


class ActorCritic(nn.Module):
    def __init__(self, d_obs, n_act, h=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_obs, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh())
        self.pi = nn.Linear(h, n_act)
        self.v = nn.Linear(h, 1)

    def forward(self, x):
        z = self.body(x)
        return Categorical(logits=self.pi(z)), self.v(z).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--envs", type=int, default=16)
    ap.add_argument("--horizon", type=int, default=20)
    ap.add_argument("--updates", type=int, default=3000)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--lam", type=float, default=0.95)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--vf", type=float, default=0.5)
    ap.add_argument("--ent", type=float, default=0.01)
    ap.add_argument("--max-norm", type=float, default=0.5)
    ap.add_argument("--save", default="a2c.pt")
    args = ap.parse_args()

    torch.manual_seed(0)
    env = WindyGrid(args.envs)
    net = ActorCritic(6, 4)
    opt = torch.optim.RMSprop(net.parameters(), lr=args.lr, alpha=0.99, eps=1e-5)
    scores = collections.deque(maxlen=200)
    ep_ret = torch.zeros(args.envs)
    obs = env.obs()

    for up in range(1, args.updates + 1):
        logps, ents, vals, rews, dones = [], [], [], [], []
        for _ in range(args.horizon):
            dist, v = net(obs)
            a = dist.sample()
            obs, r, d = env.step(a)
            logps.append(dist.log_prob(a))
            ents.append(dist.entropy())
            vals.append(v)
            rews.append(r)
            dones.append(d)
            ep_ret += r
            for i in d.nonzero().flatten().tolist():
                scores.append(ep_ret[i].item())
                ep_ret[i] = 0.0

        with torch.no_grad():
            _, next_v = net(obs)

        vals = torch.stack(vals)
        baseline = vals
        adv = torch.zeros_like(baseline)
        gae = torch.zeros(args.envs)
        for t in reversed(range(args.horizon)):
            nonterm = 1.0 - dones[t]
            delta = rews[t] + args.gamma * next_v * nonterm - baseline[t]
            gae = delta + args.gamma * args.lam * nonterm * gae
            adv[t] = gae
            next_v = baseline[t]
        target = adv + baseline

        policy_loss = -(torch.stack(logps) * adv).mean()
        value_loss = F.mse_loss(vals, target)
        entropy = torch.stack(ents).mean()
        loss = policy_loss + args.vf * value_loss - args.ent * entropy

        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), args.max_norm)
        opt.step()

        if up % 100 == 0:
            mean = sum(scores) / max(len(scores), 1)
            print(f"update {up:5d} return {mean:+.3f} pi {policy_loss.item():+.4f} "
                  f"v {value_loss.item():.4f} H {entropy.item():.3f}")
            torch.save(net.state_dict(), args.save)


if __name__ == "__main__":
    main()

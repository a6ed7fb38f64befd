"""PPO, continuous control, vectorised point-mass reacher (pure torch)."""
import argparse
import math
import time

import torch
import torch.nn as nn
from torch.distributions import Normal


class Reacher:
    """Point mass on a plane, must stop on a goal; the goal moves every 80 steps (continuing task)."""

    def __init__(self, n, device="cpu"):
        self.n, self.device, self.horizon = n, device, 80
        self.state = torch.zeros(n, 6, device=device)
        self.t = torch.randint(0, self.horizon, (n,), device=device)
        self.state[:, :2] = torch.rand(n, 2, device=device) * 2 - 1
        self._new_goal(torch.ones(n, dtype=torch.bool, device=device))

    def _new_goal(self, mask):
        k = int(mask.sum())
        if k:
            self.state[mask, 4:] = torch.rand(k, 2, device=self.device) * 2 - 1

    def obs(self):
        p, v, g = self.state.split(2, 1)
        return torch.cat([p, v, g - p], 1)

    def step(self, a):
        a = a.clamp(-1, 1)
        p, v, g = self.state.split(2, 1)
        v = 0.9 * v + 0.1 * a
        p = (p + 0.2 * v).clamp(-2, 2)
        self.state = torch.cat([p, v, g], 1)
        dist = (p - g).norm(dim=1)
        reward = -dist + (dist < 0.1).float() - 0.02 * a.pow(2).sum(1)
        self.t += 1
        due = self.t >= self.horizon
        self.t[due] = 0
        self._new_goal(due)
        return self.obs(), reward * 0.1


def layer(i, o, std=math.sqrt(2)):
    l = nn.Linear(i, o)
    nn.init.orthogonal_(l.weight, std)
    nn.init.zeros_(l.bias)
    return l


class Agent(nn.Module):
    def __init__(self, d, a, h=64):
        super().__init__()
        self.critic = nn.Sequential(layer(d, h), nn.Tanh(), layer(h, h), nn.Tanh(), layer(h, 1, 1.0))
        self.actor = nn.Sequential(layer(d, h), nn.Tanh(), layer(h, h), nn.Tanh(), layer(h, a, 0.01))
        self.log_std = nn.Parameter(torch.full((1, a), -0.5))

    def value(self, x):
        return self.critic(x).squeeze(-1)

    def dist(self, x):
        mean = self.actor(x)
        return Normal(mean, self.log_std.expand_as(mean).exp())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--envs", type=int, default=32)
    ap.add_argument("--steps", type=int, default=64)
    ap.add_argument("--iters", type=int, default=300)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--minibatches", type=int, default=8)
    ap.add_argument("--lr", type=float, default=7e-4)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--lam", type=float, default=0.95)
    ap.add_argument("--clip", type=float, default=0.2)
    ap.add_argument("--vf", type=float, default=0.5)
    ap.add_argument("--ent", type=float, default=0.001)
    ap.add_argument("--max-grad-norm", type=float, default=0.5)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--save", default="ppo.pt")
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    env, agent = Reacher(args.envs), Agent(6, 2)
    opt = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    anneal = torch.optim.lr_scheduler.LambdaLR(opt, lambda it: 1.0 - it / args.iters)
    T, N = args.steps, args.envs
    obs, t0 = env.obs(), time.time()

    for it in range(args.iters):
        O, A, LP = torch.zeros(T, N, 6), torch.zeros(T, N, 2), torch.zeros(T, N)
        R, V = torch.zeros(T, N), torch.zeros(T + 1, N)
        with torch.no_grad():
            for t in range(T):
                d = agent.dist(obs)
                a = d.sample()
                O[t], A[t], LP[t], V[t] = obs, a, d.log_prob(a).sum(1), agent.value(obs)
                obs, R[t] = env.step(a)
            V[T] = agent.value(obs)
            adv, last = torch.zeros(T, N), torch.zeros(N)
            for t in reversed(range(T)):
                delta = R[t] + args.gamma * V[t + 1] - V[t]
                last = delta + args.gamma * args.lam * last
                adv[t] = last
            ret = adv + V[:-1]

        flat = [x.flatten(0, 1) for x in (O, A, LP, adv, ret)]
        kls = []
        for _ in range(args.epochs):
            for idx in torch.randperm(T * N).chunk(args.minibatches):
                o, a, lp, ad, rt = (x[idx] for x in flat)
                ad = (ad - ad.mean()) / (ad.std() + 1e-8)
                d = agent.dist(o)
                logratio = d.log_prob(a).sum(1) - lp
                ratio = logratio.exp()
                pg = -torch.min(ratio * ad, ratio.clamp(1 - args.clip, 1 + args.clip) * ad).mean()
                vf = 0.5 * (agent.value(o) - rt).pow(2).mean()
                ent = d.entropy().sum(1).mean()
                loss = pg + args.vf * vf - args.ent * ent

                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                opt.step()
                with torch.no_grad():
                    kls.append(((ratio - 1) - logratio).mean().item())
        anneal.step()

        if (it + 1) % 10 == 0:
            print(f"iter {it + 1:4d} reward {R.mean().item():+.4f} pg {pg.item():+.4f} vf {vf.item():.4f} "
                  f"kl {sum(kls) / len(kls):.4f} std {agent.log_std.exp().mean().item():.3f} {time.time() - t0:.0f}s")
            torch.save({"agent": agent.state_dict(), "opt": opt.state_dict(), "iter": it}, args.save)


if __name__ == "__main__":
    main()

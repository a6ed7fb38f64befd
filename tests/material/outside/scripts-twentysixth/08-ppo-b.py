"""PPO on a batch of point-mass environments (written out here, nothing to install)."""
import argparse
from collections import namedtuple

import torch
import torch.nn as nn
from torch.distributions import Categorical

Rollout = namedtuple("Rollout", "obs act logp ret adv")
MOVES = torch.tensor([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


class PointMass:
    """Reach the origin; reward is minus the distance."""

    def __init__(self, n, horizon, gen):
        self.n, self.horizon, self.gen = n, horizon, gen

    def reset(self):
        self.pos = torch.rand(self.n, 2, generator=self.gen) * 4 - 2
        self.vel = torch.zeros(self.n, 2)
        self.t = 0
        return self.obs()

    def obs(self):
        return torch.cat([self.pos, self.vel], 1)

    def step(self, act):
        self.vel = 0.8 * self.vel + 0.15 * MOVES[act]
        self.pos = (self.pos + self.vel).clamp(-3, 3)
        self.t += 1
        return self.obs(), -self.pos.norm(dim=1) * 0.1, self.t >= self.horizon


class ActorCritic(nn.Module):
    def __init__(self, n_obs=4, n_act=5, hidden=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, n_act)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


@torch.no_grad()
def collect(env, model, gamma, lam):
    obs, buf, done = env.reset(), [], False
    while not done:
        dist, val = model(obs)
        act = dist.sample()
        nxt, rew, done = env.step(act)
        buf.append((obs, act, dist.log_prob(act), rew, val))
        obs = nxt
    obs_b, act_b, logp_b, rew_b, val_b = (torch.stack(t) for t in zip(*buf))
    adv = torch.zeros_like(rew_b)
    last, next_val = torch.zeros(env.n), torch.zeros(env.n)
    for t in reversed(range(len(rew_b))):
        delta = rew_b[t] + gamma * next_val - val_b[t]
        last = delta + gamma * lam * last
        adv[t], next_val = last, val_b[t]
    ret = adv + val_b
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    return Rollout(obs_b.flatten(0, 1), act_b.flatten(), logp_b.flatten(), ret.flatten(), adv.flatten()), rew_b.sum(0).mean().item()


def minibatches(roll, size, epochs):
    n = len(roll.act)
    for _ in range(epochs):
        for idx in torch.randperm(n).split(size):
            yield Rollout(*(t[idx] for t in roll))


def ppo_loss(model, mb, args):
    dist, val = model(mb.obs)
    logp = dist.log_prob(mb.act)
    ratio = (logp - mb.logp).exp()
    clipped = ratio.clamp(1 - args.eps, 1 + args.eps)
    policy = -torch.min(ratio * mb.adv, clipped * mb.adv).mean()
    value = (val - mb.ret).pow(2).mean()
    kl = ((ratio - 1) - (logp - mb.logp)).mean().item()
    return policy + args.vf * value - args.ent * dist.entropy().mean(), kl


def improve(model, opt, roll, args):
    """Returns (updates made, whether it stopped early)."""
    updates = 0
    opt.zero_grad(set_to_none=True)
    for k, mb in enumerate(minibatches(roll, args.minibatch, args.epochs), start=1):
        loss, kl = ppo_loss(model, mb, args)
        if kl > args.target_kl:
            return updates, True
        (loss / args.accum).backward()
        if k % args.accum == 0:
            nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
            opt.step()
            opt.zero_grad(set_to_none=True)
            updates += 1
    return updates, False


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iterations", type=int, default=25)
    ap.add_argument("--envs", type=int, default=16)
    ap.add_argument("--horizon", type=int, default=32)
    ap.add_argument("--minibatch", type=int, default=64)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--lam", type=float, default=0.95)
    ap.add_argument("--eps", type=float, default=0.2)
    ap.add_argument("--vf", type=float, default=0.5)
    ap.add_argument("--ent", type=float, default=0.01)
    ap.add_argument("--target-kl", type=float, default=0.015)
    ap.add_argument("--max-norm", type=float, default=0.5)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    env = PointMass(args.envs, args.horizon, torch.Generator().manual_seed(args.seed))
    model = ActorCritic()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, eps=1e-5)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=args.iterations)
    for it in range(args.iterations):
        roll, score = collect(env, model, args.gamma, args.lam)
        updates, early = improve(model, opt, roll, args)
        sched.step()
        print(f"iter {it:3d} return {score:7.3f} updates {updates:2d} early {int(early)}")


if __name__ == "__main__":
    main()

"""
PPO-clip with several workers, in the manner of Spinning Up.

Each worker collects its own experience with its own random seed. Gradients are averaged over
the workers before each step, so that all of them hold the same policy and value weights.
The environment is a cart-pole written in numpy.

    python ppo_workers.py --cpu 2
"""
import argparse
import math
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.distributions import Categorical


class CartPole:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s, self.t = self.rng.uniform(-0.05, 0.05, 4), 0
        return self.s.astype(np.float32)

    def step(self, a):
        x, xd, th, thd = self.s
        f = 10.0 if a == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * thd ** 2 * s) / 1.1
        thacc = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        xacc = tmp - 0.05 * thacc * c / 1.1
        self.s = self.s + 0.02 * np.array([xd, xacc, thd, thacc])
        self.t += 1
        fell = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.209
        return self.s.astype(np.float32), 1.0, bool(fell), self.t >= 300


def mlp(sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(nn.Tanh())
    return nn.Sequential(*layers)


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_act, hidden=64):
        super().__init__()
        self.pi = mlp([obs_dim, hidden, hidden, n_act])
        self.v = mlp([obs_dim, hidden, hidden, 1])

    @torch.no_grad()
    def act(self, obs):
        d = Categorical(logits=self.pi(obs))
        a = d.sample()
        return a.item(), self.v(obs).item(), d.log_prob(a).item()


def avg_grads(module):
    for p in module.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


def mean_over_workers(x):
    t = torch.tensor([float(x)], dtype=torch.float64)
    dist.all_reduce(t)
    return (t / dist.get_world_size()).item()


def collect(env, ac, steps, gamma, lam):
    obs, acts, logps, advs, rets, ep_rets = [], [], [], [], [], []
    o, rew, val = env.reset(), [], []
    for t in range(steps):
        a, v, lp = ac.act(torch.from_numpy(o))
        obs.append(o), acts.append(a), logps.append(lp), val.append(v)
        o, r, fell, timeout = env.step(a)
        rew.append(r)
        if fell or timeout or t == steps - 1:
            last = 0.0 if fell else ac.act(torch.from_numpy(o))[1]
            vals, g, path = np.array(val + [last]), 0.0, []
            for i in reversed(range(len(rew))):
                g = rew[i] + gamma * vals[i + 1] - vals[i] + gamma * lam * g
                path.append(g)
            path = path[::-1]
            advs += path
            rets += [p + v for p, v in zip(path, vals[:-1])]
            if fell or timeout:
                ep_rets.append(sum(rew))
            o, rew, val = env.reset(), [], []
    f = lambda x: torch.as_tensor(np.array(x), dtype=torch.float32)
    adv = f(advs)
    # normalise with the statistics of all workers
    mean = mean_over_workers(adv.mean())
    std = math.sqrt(mean_over_workers(((adv - mean) ** 2).mean()))
    return f(obs), torch.as_tensor(acts), f(logps), (adv - mean) / (std + 1e-8), f(rets), ep_rets


def worker(rank, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
    dist.init_process_group("gloo", rank=rank, world_size=args.cpu)
    torch.set_num_threads(1)
    seed = args.seed + 10000 * rank
    torch.manual_seed(seed)
    np.random.seed(seed)

    env = CartPole(seed)
    ac = ActorCritic(4, 2)
    pi_opt = torch.optim.Adam(ac.pi.parameters(), lr=args.pi_lr)
    v_opt = torch.optim.Adam(ac.v.parameters(), lr=args.v_lr)
    steps = args.steps_per_epoch // args.cpu

    for epoch in range(args.epochs):
        obs, act, logp_old, adv, ret, ep_rets = collect(env, ac, steps, args.gamma, args.lam)

        for i in range(args.train_iters):
            d = Categorical(logits=ac.pi(obs))
            logp = d.log_prob(act)
            ratio = torch.exp(logp - logp_old)
            clipped = torch.clamp(ratio, 1 - args.clip_ratio, 1 + args.clip_ratio)
            loss_pi = -torch.min(ratio * adv, clipped * adv).mean()
            # same decision in every worker
            kl = mean_over_workers((logp_old - logp).mean().item())
            if kl > 1.5 * args.target_kl:
                break
            pi_opt.zero_grad()
            loss_pi.backward()
            avg_grads(ac.pi)
            pi_opt.step()

        for _ in range(args.train_iters):
            v_opt.zero_grad()
            loss_v = ((ac.v(obs).squeeze(-1) - ret) ** 2).mean()
            loss_v.backward()
            avg_grads(ac.v)
            v_opt.step()

        score = mean_over_workers(np.mean(ep_rets) if ep_rets else steps)
        if rank == 0:
            print(f"epoch {epoch} return {score:.1f} kl {kl:.4f} pi iters {i} v loss {loss_v.item():.2f}", flush=True)
            torch.save(ac.state_dict(), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--cpu", type=int, default=2)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--steps_per_epoch", type=int, default=4000)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--lam", type=float, default=0.97)
    p.add_argument("--clip_ratio", type=float, default=0.2)
    p.add_argument("--pi_lr", type=float, default=3e-4)
    p.add_argument("--v_lr", type=float, default=1e-3)
    p.add_argument("--train_iters", type=int, default=40)
    p.add_argument("--target_kl", type=float, default=0.01)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--port", type=int, default=29511)
    p.add_argument("--out", default="ppo.pt")
    args = p.parse_args()
    mp.spawn(worker, args=(args,), nprocs=args.cpu)

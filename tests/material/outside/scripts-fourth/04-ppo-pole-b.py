#!/usr/bin/env python
"""PPO (clipped) for a vectorised cart-pole written in numpy. No gym needed."""
import argparse
import random
import time

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class VecCartPole:
    def __init__(self, n, seed=0, max_len=500):
        self.n, self.max_len = n, max_len
        self.rng = np.random.default_rng(seed)
        self.s = self.rng.uniform(-0.05, 0.05, (n, 4))
        self.t = np.zeros(n, dtype=int)

    def reset(self):
        return self.s.astype(np.float32)

    def step(self, a):
        x, xd, th, thd = self.s.T
        force = np.where(a == 1, 10.0, -10.0)
        c, s = np.cos(th), np.sin(th)
        tmp = (force + 0.05 * thd ** 2 * s) / 1.1
        thacc = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        xacc = tmp - 0.05 * thacc * c / 1.1
        self.s = np.stack([x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * thacc], 1)
        self.t += 1
        done = (np.abs(self.s[:, 0]) > 2.4) | (np.abs(self.s[:, 2]) > 0.2095) | (self.t >= self.max_len)
        lens = self.t[done].copy()
        k = int(done.sum())
        if k:
            self.s[done] = self.rng.uniform(-0.05, 0.05, (k, 4))
            self.t[done] = 0
        return self.s.astype(np.float32), np.ones(self.n, np.float32), done.astype(np.float32), lens


def layer_init(layer, std=np.sqrt(2)):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(4, 64)), nn.Tanh(),
                                    layer_init(nn.Linear(64, 64)), nn.Tanh(), layer_init(nn.Linear(64, 1), 1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(4, 64)), nn.Tanh(),
                                   layer_init(nn.Linear(64, 64)), nn.Tanh(), layer_init(nn.Linear(64, 2), 0.01))

    def get_value(self, x):
        return self.critic(x).squeeze(-1)

    def get_action_and_value(self, x, action=None):
        dist = Categorical(logits=self.actor(x))
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.get_value(x)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--total-timesteps", type=int, default=300_000)
    p.add_argument("--learning-rate", type=float, default=2.5e-4)
    p.add_argument("--num-envs", type=int, default=8)
    p.add_argument("--num-steps", type=int, default=128)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--gae-lambda", type=float, default=0.95)
    p.add_argument("--num-minibatches", type=int, default=4)
    p.add_argument("--update-epochs", type=int, default=4)
    p.add_argument("--clip-coef", type=float, default=0.2)
    p.add_argument("--ent-coef", type=float, default=0.01)
    p.add_argument("--vf-coef", type=float, default=0.5)
    p.add_argument("--max-grad-norm", type=float, default=0.5)
    return p.parse_args()


if __name__ == "__main__":
    args = parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    envs = VecCartPole(args.num_envs, args.seed)
    agent = Agent().to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    T, N = args.num_steps, args.num_envs
    obs = torch.zeros(T, N, 4, device=device)
    actions = torch.zeros(T, N, dtype=torch.long, device=device)
    logprobs, rewards, dones, values = (torch.zeros(T, N, device=device) for _ in range(4))
    batch = T * N
    mb = batch // args.num_minibatches

    next_obs = torch.from_numpy(envs.reset()).to(device)
    next_done = torch.zeros(N, device=device)
    num_updates = args.total_timesteps // batch
    start, ep_lens = time.time(), []

    for update in range(num_updates):
        optimizer.param_groups[0]["lr"] = (1.0 - update / num_updates) * args.learning_rate

        # rollout
        for t in range(T):
            obs[t], dones[t] = next_obs, next_done
            with torch.no_grad():
                a, lp, _, v = agent.get_action_and_value(next_obs)
            actions[t], logprobs[t], values[t] = a, lp, v
            o, r, d, lens = envs.step(a.cpu().numpy())
            rewards[t] = torch.from_numpy(r).to(device)
            next_obs, next_done = torch.from_numpy(o).to(device), torch.from_numpy(d).to(device)
            ep_lens.extend(lens.tolist())

        # GAE
        with torch.no_grad():
            next_value = agent.get_value(next_obs)
            adv = torch.zeros_like(rewards)
            last = 0
            for t in reversed(range(T)):
                nonterm = 1.0 - (next_done if t == T - 1 else dones[t + 1])
                nv = next_value if t == T - 1 else values[t + 1]
                delta = rewards[t] + args.gamma * nv * nonterm - values[t]
                adv[t] = last = delta + args.gamma * args.gae_lambda * nonterm * last
            returns = adv + values

        b_obs, b_act, b_lp = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
        b_adv, b_ret = adv.reshape(-1), returns.reshape(-1)

        for epoch in range(args.update_epochs):
            perm = torch.randperm(batch, device=device)
            optimizer.zero_grad()
            for s in range(0, batch, mb):
                idx = perm[s:s + mb]
                _, newlp, ent, newv = agent.get_action_and_value(b_obs[idx], b_act[idx])
                ratio = (newlp - b_lp[idx]).exp()
                mb_adv = b_adv[idx]
                mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
                pg_loss = torch.max(-mb_adv * ratio,
                                    -mb_adv * ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)).mean()
                v_loss = 0.5 * ((newv - b_ret[idx]) ** 2).mean()
                loss = pg_loss - args.ent_coef * ent.mean() + args.vf_coef * v_loss

                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()

        if update % 10 == 0:
            recent = np.mean(ep_lens[-50:]) if ep_lens else float("nan")
            sps = int((update + 1) * batch / (time.time() - start))
            print(f"update {update}/{num_updates} len {recent:.1f} pg {pg_loss.item():.4f} "
                  f"v {v_loss.item():.3f} sps {sps}")

    torch.save(agent.state_dict(), "ppo_cartpole.pt")

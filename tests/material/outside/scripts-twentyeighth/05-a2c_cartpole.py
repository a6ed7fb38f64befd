"""Synchronous advantage actor-critic on a vectorised CartPole written in torch."""
import argparse
import collections
import math
import pathlib

import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class VecCartPole:
    def __init__(self, n, max_steps=200):
        self.n, self.max_steps = n, max_steps
        self.state = torch.empty(n, 4)
        self.t = torch.zeros(n, dtype=torch.long)
        self.ret = torch.zeros(n)
        self.finished = collections.deque(maxlen=50)

    def reset(self):
        self.state.uniform_(-0.05, 0.05)
        return self.state.clone()

    def step(self, action):
        x, xd, th, thd = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        sin, cos = th.sin(), th.cos()
        temp = (force + 0.05 * thd ** 2 * sin) / 1.1
        thacc = (9.8 * sin - cos * temp) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
        xacc = temp - 0.05 * thacc * cos / 1.1
        self.state = torch.stack([x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * thacc], 1)
        self.t += 1
        self.ret += 1
        done = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 12 * math.pi / 180) | (self.t >= self.max_steps)
        for i in done.nonzero().flatten().tolist():
            self.finished.append(self.ret[i].item())
            self.state[i].uniform_(-0.05, 0.05)
            self.t[i] = 0
            self.ret[i] = 0
        return self.state.clone(), torch.ones(self.n), done.float()


class Agent(nn.Module):
    def __init__(self, obs_dim=4, n_actions=2, hidden=64):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, n_actions))
        self.critic = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def value(self, obs):
        return self.critic(obs).squeeze(-1)

    def act(self, obs):
        dist = Categorical(logits=self.actor(obs))
        action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.value(obs)


def nstep_returns(rewards, dones, bootstrap, gamma):
    out, running = [], bootstrap
    for r, d in zip(reversed(rewards), reversed(dones)):
        running = r + gamma * running * (1 - d)
        out.append(running)
    return torch.stack(out[::-1])


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=150)
    ap.add_argument("--num-envs", type=int, default=8)
    ap.add_argument("--num-steps", type=int, default=10)
    ap.add_argument("--gamma", type=float, default=0.99)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--ent-coef", type=float, default=0.01)
    ap.add_argument("--vf-coef", type=float, default=0.5)
    ap.add_argument("--max-grad-norm", type=float, default=0.5)
    ap.add_argument("--anneal-lr", action=argparse.BooleanOptionalAction, default=True)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--save", type=pathlib.Path, default=pathlib.Path("a2c.pt"))
    return ap.parse_args()


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    envs = VecCartPole(args.num_envs)
    agent = Agent()
    opt = optim.RMSprop(agent.parameters(), lr=args.lr, alpha=0.99, eps=1e-5)
    obs = envs.reset()

    for update in range(1, args.updates + 1):
        if args.anneal_lr:
            frac = 1.0 - (update - 1) / args.updates
            opt.param_groups[0]["lr"] = frac * args.lr

        logps, entropies, values, rewards, dones = [], [], [], [], []
        for _ in range(args.num_steps):
            action, logp, entropy, value = agent.act(obs)
            obs, reward, done = envs.step(action)
            logps.append(logp)
            entropies.append(entropy)
            values.append(value)
            rewards.append(reward)
            dones.append(done)

        with torch.no_grad():
            returns = nstep_returns(rewards, dones, agent.value(obs), args.gamma)
        logps, values = torch.stack(logps), torch.stack(values)
        entropy = torch.stack(entropies).mean()

        advantages = returns - values.detach()
        policy_loss = -(logps * advantages).mean()
        value_loss = (returns - values).pow(2).mean()
        loss = policy_loss + args.vf_coef * value_loss - args.ent_coef * entropy

        opt.zero_grad()
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
        opt.step()

        if update % 25 == 0:
            mean_ret = sum(envs.finished) / max(1, len(envs.finished))
            print(f"update {update:4d} return {mean_ret:6.1f} pi {policy_loss.item():+.3f} v {value_loss.item():.3f} "
                  f"H {entropy.item():.3f} |g| {grad_norm.item():.2f}")

    args.save.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"agent": agent.state_dict(), "opt": opt.state_dict()}, args.save)
    return agent


if __name__ == "__main__":
    main()

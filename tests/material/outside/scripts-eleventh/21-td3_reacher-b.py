"""TD3 on a planar two-link reaching task with own simulator."""
import argparse
import copy
import os
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Reacher:
    """State: cos/sin of both joint angles, joint velocities, target xy, tip-target vector."""

    def __init__(self, seed=0, horizon=100):
        self.rng = np.random.default_rng(seed)
        self.horizon, self.dt = horizon, 0.05

    def _tip(self):
        a, b = self.q[0], self.q[0] + self.q[1]
        return np.array([np.cos(a) + np.cos(b), np.sin(a) + np.sin(b)]) * 0.5

    def _obs(self):
        return np.concatenate([np.cos(self.q), np.sin(self.q), self.v, self.goal, self._tip() - self.goal]).astype(np.float32)

    def reset(self):
        self.q = self.rng.uniform(-np.pi, np.pi, 2)
        self.v = np.zeros(2)
        r, phi = self.rng.uniform(0.2, 0.9), self.rng.uniform(-np.pi, np.pi)
        self.goal = r * np.array([np.cos(phi), np.sin(phi)])
        self.t = 0
        return self._obs()

    def step(self, a):
        self.v = 0.95 * self.v + self.dt * 8.0 * np.clip(a, -1, 1)
        self.q = self.q + self.dt * self.v
        self.t += 1
        dist = np.linalg.norm(self._tip() - self.goal)
        reward = -dist - 0.02 * float(np.square(a).sum()) + (1.0 if dist < 0.05 else 0.0)
        return self._obs(), reward, self.t >= self.horizon


class Replay:
    def __init__(self, cap, obs, act, device):
        self.cap, self.n, self.i, self.device = cap, 0, 0, device
        self.o, self.o2 = np.zeros((cap, obs), np.float32), np.zeros((cap, obs), np.float32)
        self.a, self.r = np.zeros((cap, act), np.float32), np.zeros((cap, 1), np.float32)

    def add(self, o, a, r, o2):
        self.o[self.i], self.a[self.i], self.r[self.i], self.o2[self.i] = o, a, r, o2
        self.i, self.n = (self.i + 1) % self.cap, min(self.n + 1, self.cap)

    def sample(self, b):
        k = np.random.randint(0, self.n, b)
        return (torch.as_tensor(x[k], device=self.device) for x in (self.o, self.a, self.r, self.o2))


def mlp(i, o, h=256):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


class Actor(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = mlp(obs, act)

    def forward(self, o):
        return torch.tanh(self.net(o))


class TwinCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.q1, self.q2 = mlp(obs + act, 1), mlp(obs + act, 1)

    def forward(self, o, a):
        x = torch.cat([o, a], 1)
        return self.q1(x), self.q2(x)


class TD3:
    def __init__(self, obs, act, args, device):
        self.args, self.device, self.updates = args, device, 0
        self.actor, self.critic = Actor(obs, act).to(device), TwinCritic(obs, act).to(device)
        self.actor_t = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_t = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=args.lr)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=args.lr)

    @torch.no_grad()
    def act(self, obs, noise=0.0):
        a = self.actor(torch.as_tensor(obs, device=self.device)[None])[0].cpu().numpy()
        return np.clip(a + noise * np.random.randn(*a.shape), -1, 1).astype(np.float32)

    def update(self, batch):
        o, a, r, o2 = batch
        self.updates += 1
        with torch.no_grad():
            eps = (torch.randn_like(a) * 0.2).clamp(-0.5, 0.5)
            a2 = (self.actor_t(o2) + eps).clamp(-1, 1)
            target = r + self.args.gamma * torch.min(*self.critic_t(o2, a2))
        q1, q2 = self.critic(o, a)
        critic_loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        if self.updates % self.args.policy_delay == 0:
            actor_loss = -self.critic(o, self.actor(o))[0].mean()
            self.actor_opt.zero_grad()
            actor_loss.backward()
            self.actor_opt.step()
            with torch.no_grad():
                for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
                    for p, pt in zip(net.parameters(), tgt.parameters()):
                        pt.lerp_(p, self.args.tau)
        return critic_loss.item()


def evaluate(agent, episodes=10):
    env, total = Reacher(seed=999), 0.0
    for _ in range(episodes):
        o, done = env.reset(), False
        while not done:
            o, r, done = env.step(agent.act(o))
            total += r
    return total / episodes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=150000)
    ap.add_argument("--start", type=int, default=5000)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--gamma", type=float, default=0.98)
    ap.add_argument("--tau", type=float, default=0.005)
    ap.add_argument("--policy-delay", type=int, default=2)
    ap.add_argument("--eval-every", type=int, default=5000)
    ap.add_argument("--out", default="runs/td3")
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)
    torch.manual_seed(0)
    np.random.seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    env = Reacher()
    obs = env.reset()
    agent = TD3(len(obs), 2, args, device)
    buf = Replay(200000, len(obs), 2, device)
    closs, best = deque(maxlen=500), -float("inf")
    for step in range(1, args.steps + 1):
        a = np.random.uniform(-1, 1, 2).astype(np.float32) if step < args.start else agent.act(obs, 0.1)
        nxt, r, done = env.step(a)
        buf.add(obs, a, r, nxt)
        obs = env.reset() if done else nxt
        if step >= args.start:
            closs.append(agent.update(buf.sample(args.batch)))
        if step % args.eval_every == 0 and closs:
            ret = evaluate(agent)
            print(f"step {step} return {ret:.2f} critic {np.mean(closs):.4f}")
            if ret > best:
                best = ret
                torch.save({"actor": agent.actor.state_dict(), "critic": agent.critic.state_dict()},
                           os.path.join(args.out, "best.pt"))


if __name__ == "__main__":
    main()

"""DDPG on a 2-D point-mass reaching task."""
import argparse
import collections
import copy
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = collections.namedtuple('Transition', 's a r s2 d')


class PointReach:
    obs_dim, act_dim, horizon = 6, 2, 60

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos, self.vel = self.rng.uniform(-1, 1, 2), np.zeros(2)
        self.goal, self.t = self.rng.uniform(-1, 1, 2), 0
        return self._obs()

    def _obs(self):
        return np.concatenate([self.pos, self.vel, self.goal]).astype(np.float32)

    def step(self, a):
        self.vel = 0.9 * self.vel + 0.1 * np.clip(a, -1, 1)
        self.pos = self.pos + 0.2 * self.vel
        self.t += 1
        dist = np.linalg.norm(self.pos - self.goal)
        return self._obs(), -float(dist), False, self.t >= self.horizon


class ReplayBuffer:
    def __init__(self, size):
        self.data = collections.deque(maxlen=size)

    def push(self, *args):
        self.data.append(Transition(*args))

    def sample(self, n, device):
        b = Transition(*zip(*random.sample(self.data, n)))
        f = lambda v: torch.as_tensor(np.array(v), dtype=torch.float32, device=device)
        return f(b.s), f(b.a), f(b.r).unsqueeze(1), f(b.s2), f(b.d).unsqueeze(1)

    def __len__(self):
        return len(self.data)


def mlp(sizes, out=None):
    m = []
    for i in range(len(sizes) - 1):
        m.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            m.append(nn.ReLU())
    if out is not None:
        m.append(out)
    return nn.Sequential(*m)


class Actor(nn.Module):
    def __init__(self, o, a, h):
        super().__init__()
        self.net = mlp([o, h, h, a], nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self, o, a, h):
        super().__init__()
        self.net = mlp([o + a, h, h, 1])

    def forward(self, s, a):
        return self.net(torch.cat([s, a], dim=1))


class DDPG:
    def __init__(self, env, args, device):
        self.args, self.device = args, device
        self.actor = Actor(env.obs_dim, env.act_dim, args.hidden).to(device)
        self.critic = Critic(env.obs_dim, env.act_dim, args.hidden).to(device)
        self.actor_target, self.critic_target = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=args.actor_lr)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=args.critic_lr)

    @torch.no_grad()
    def act(self, s, noise=0.0):
        a = self.actor(torch.from_numpy(s).to(self.device).unsqueeze(0))[0].cpu().numpy()
        return np.clip(a + noise * np.random.randn(*a.shape), -1, 1).astype(np.float32)

    def update(self, buf):
        s, a, r, s2, d = buf.sample(self.args.batch_size, self.device)

        with torch.no_grad():
            q_next = self.critic_target(s2, self.actor_target(s2))
            target = r + self.args.gamma * (1 - d) * q_next
        critic_loss = F.mse_loss(self.critic(s, a), target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        actor_loss = -self.critic(s, self.actor(s).detach()).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        self.soft_update(self.actor, self.actor_target)
        self.soft_update(self.critic, self.critic_target)
        return critic_loss.item(), actor_loss.item()

    @torch.no_grad()
    def soft_update(self, src, dst):
        for p, q in zip(src.parameters(), dst.parameters()):
            q.mul_(1 - self.args.tau).add_(p, alpha=self.args.tau)


def rollout(env, agent, noise, buf=None):
    s, ret, end = env.reset(), 0.0, False
    while not end:
        a = agent.act(s, noise)
        s2, r, done, end = env.step(a)
        if buf is not None:
            buf.push(s, a, r, s2, float(done))
        s, ret = s2, ret + r
    return ret


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--episodes', type=int, default=400)
    p.add_argument('--batch-size', type=int, default=128)
    p.add_argument('--hidden', type=int, default=128)
    p.add_argument('--gamma', type=float, default=0.97)
    p.add_argument('--tau', type=float, default=0.005)
    p.add_argument('--actor-lr', type=float, default=1e-3)
    p.add_argument('--critic-lr', type=float, default=1e-3)
    p.add_argument('--noise', type=float, default=0.2)
    p.add_argument('--updates', type=int, default=40)
    p.add_argument('--warmup', type=int, default=10)
    p.add_argument('--seed', type=int, default=0)
    args = p.parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

    env, test_env = PointReach(args.seed), PointReach(args.seed + 1)
    agent, buf = DDPG(env, args, device), ReplayBuffer(100_000)
    for ep in range(args.episodes):
        rollout(env, agent, 1.0 if ep < args.warmup else args.noise, buf)
        if ep >= args.warmup:
            for _ in range(args.updates):
                c, a = agent.update(buf)
            if ep % 20 == 0:
                score = np.mean([rollout(test_env, agent, 0.0) for _ in range(10)])
                print(f'ep {ep} critic {c:.4f} actor {a:.4f} eval return {score:.2f}')
    torch.save(agent.actor.state_dict(), 'ddpg_actor.pt')


if __name__ == '__main__':
    main()

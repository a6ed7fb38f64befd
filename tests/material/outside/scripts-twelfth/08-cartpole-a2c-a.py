import argparse
import math

import torch
import torch.nn as nn
from torch.distributions import Categorical


class VecCartPole:
    """Batched cart-pole on tensors, automatic reset."""

    def __init__(self, n):
        self.n = n
        self.state = self._fresh(n)
        self.length = torch.zeros(n)

    @staticmethod
    def _fresh(k):
        return torch.rand(k, 4) * 0.1 - 0.05

    def step(self, action):
        x, v, th, w = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        cos, sin = th.cos(), th.sin()
        tmp = (force + 0.05 * w**2 * sin) / 1.1
        acc_th = (9.8 * sin - cos * tmp) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        acc = tmp - 0.05 * acc_th * cos / 1.1
        dt = 0.02
        self.state = torch.stack([x + dt * v, v + dt * acc, th + dt * w, w + dt * acc_th], 1)
        self.length += 1
        done = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 12 * math.pi / 180)
        done = done | (self.length >= 500)
        finished = self.length[done].tolist()
        if done.any():
            self.state[done] = self._fresh(int(done.sum()))
            self.length[done] = 0
        return self.state.clone(), torch.ones(self.n), done.float(), finished


class ActorCritic(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, 2)
        self.v = nn.Linear(hidden, 1)

    def forward(self, s):
        h = self.shared(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def compute_returns(rewards, dones, bootstrap, gamma):
    out, running = [], bootstrap
    for r, d in zip(reversed(rewards), reversed(dones)):
        running = r + gamma * running * (1 - d)
        out.append(running)
    return torch.stack(out[::-1])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--envs", type=int, default=16)
    ap.add_argument("--rollout", type=int, default=16)
    ap.add_argument("--updates", type=int, default=1500)
    ap.add_argument("--gamma", type=float, default=0.99)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--value-coef", type=float, default=0.5)
    ap.add_argument("--ent-coef", type=float, default=0.01)
    ap.add_argument("--max-grad-norm", type=float, default=0.5)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    env = VecCartPole(args.envs)
    net = ActorCritic()
    opt = torch.optim.RMSprop(net.parameters(), lr=args.lr, alpha=0.99, eps=1e-5)
    state = env.state.clone()
    lengths = []

    for update in range(1, args.updates + 1):
        logps, values, ents, rewards, dones = [], [], [], [], []
        for _ in range(args.rollout):
            dist, value = net(state)
            action = dist.sample()
            state, reward, done, finished = env.step(action)
            lengths += finished
            logps.append(dist.log_prob(action))
            values.append(value)
            ents.append(dist.entropy())
            rewards.append(reward)
            dones.append(done)

        with torch.no_grad():
            _, bootstrap = net(state)
        returns = compute_returns(rewards, dones, bootstrap, args.gamma)
        values, logps, ents = torch.stack(values), torch.stack(logps), torch.stack(ents)
        advantage = returns - values

        policy_loss = -(logps * advantage.detach()).mean()
        value_loss = advantage.pow(2).mean()
        loss = policy_loss + args.value_coef * value_loss - args.ent_coef * ents.mean()

        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), args.max_grad_norm)
        opt.step()

        if update % 100 == 0:
            recent = lengths[-50:]
            print(f"{update:5d} len {sum(recent) / max(len(recent), 1):.1f} v {value_loss.item():.3f} "
                  f"H {ents.mean().item():.3f}")
    torch.save(net.state_dict(), "a2c.pt")


if __name__ == "__main__":
    main()

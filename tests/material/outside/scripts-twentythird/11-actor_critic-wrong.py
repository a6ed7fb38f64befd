"""Episodic actor-critic (REINFORCE with a learned baseline) on a hand-written cart-pole."""
import argparse
import math
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class CartPole:
    gravity, m_cart, m_pole, half_len, force, dt = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, max_steps=150, seed=0):
        self.rng = random.Random(seed)
        self.max_steps = max_steps

    def reset(self):
        self.state = [self.rng.uniform(-0.05, 0.05) for _ in range(4)]
        self.t = 0
        return list(self.state)

    def step(self, action):
        x, v, th, om = self.state
        f = self.force if action == 1 else -self.force
        total = self.m_cart + self.m_pole
        tmp = (f + self.m_pole * self.half_len * om**2 * math.sin(th)) / total
        acc_th = (self.gravity * math.sin(th) - math.cos(th) * tmp) / (
            self.half_len * (4.0 / 3.0 - self.m_pole * math.cos(th) ** 2 / total)
        )
        acc_x = tmp - self.m_pole * self.half_len * acc_th * math.cos(th) / total
        self.state = [x + self.dt * v, v + self.dt * acc_x, th + self.dt * om, om + self.dt * acc_th]
        self.t += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180
        return list(self.state), 1.0, fallen or self.t >= self.max_steps


class ActorCritic(nn.Module):
    def __init__(self, obs_dim=4, n_actions=2, hidden=64):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh())
        self.actor = nn.Linear(hidden, n_actions)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.shared(obs)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


def rollout(env, model, device):
    log_probs, values, entropies, rewards = [], [], [], []
    obs, done = env.reset(), False
    while not done:
        dist, value = model(torch.tensor(obs, dtype=torch.float32, device=device))
        action = dist.sample()
        obs, reward, done = env.step(action.item())
        log_probs.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        values.append(value)
        rewards.append(reward)
    return torch.stack(log_probs), torch.stack(values), torch.stack(entropies), rewards


def discounted_returns(rewards, gamma):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        out.append(g)
    return torch.tensor(out[::-1])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--episodes", type=int, default=100)
    ap.add_argument("--gamma", type=float, default=0.98)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--value-coef", type=float, default=0.5)
    ap.add_argument("--entropy-coef", type=float, default=0.01)
    ap.add_argument("--max-grad-norm", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    env = CartPole(seed=args.seed)
    model = ActorCritic().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    recent = deque(maxlen=20)

    for episode in range(1, args.episodes + 1):
        log_probs, values, entropies, rewards = rollout(env, model, device)
        returns = discounted_returns(rewards, args.gamma).to(device) / 10.0

        advantage = returns - values
        policy_loss = -(log_probs * advantage).mean()
        value_loss = F.mse_loss(values, returns)
        loss = policy_loss + args.value_coef * value_loss - args.entropy_coef * entropies.mean()

        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
        optimizer.step()

        recent.append(sum(rewards))
        if episode % 20 == 0:
            print(
                f"episode {episode:4d}  return(20) {sum(recent) / len(recent):6.1f}  "
                f"policy {policy_loss.item():+.3f}  value {value_loss.item():.3f}"
            )


if __name__ == "__main__":
    main()

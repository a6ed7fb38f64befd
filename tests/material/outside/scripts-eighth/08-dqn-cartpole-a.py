import random
from collections import deque
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter


@dataclass
class Config:
    env: str = "CartPole-v1"
    seed: int = 1
    total_steps: int = 150_000
    buffer_size: int = 20_000
    batch_size: int = 128
    learning_starts: int = 2_000
    train_every: int = 4
    target_every: int = 500
    gamma: float = 0.99
    lr: float = 2.5e-4
    eps_start: float = 1.0
    eps_end: float = 0.05
    eps_fraction: float = 0.4


class QNet(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(obs_dim, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, n_actions)
        )

    def forward(self, x):
        return self.net(x)


class Replay:
    def __init__(self, size):
        self.data = deque(maxlen=size)

    def add(self, *transition):
        self.data.append(transition)

    def sample(self, n, device):
        s, a, r, s2, d = zip(*random.sample(self.data, n))
        f = lambda v: torch.as_tensor(np.array(v), dtype=torch.float32, device=device)
        return f(s), torch.as_tensor(a, device=device), f(r), f(s2), f(d)


def epsilon(cfg, t):
    frac = min(1.0, t / (cfg.eps_fraction * cfg.total_steps))
    return cfg.eps_start + frac * (cfg.eps_end - cfg.eps_start)


def td_loss(q, target, batch, gamma):
    s, a, r, s2, d = batch
    q_sa = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = q(s2).argmax(1, keepdim=True)
        q_next = target(s2).gather(1, best).squeeze(1)
        y = r + gamma * (1.0 - d) * q_next
    return F.smooth_l1_loss(q_sa, y), q_sa.mean()


def main(cfg: Config):
    random.seed(cfg.seed)
    np.random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    writer = SummaryWriter(f"runs/ddqn_{cfg.env}_{cfg.seed}")

    env = gym.make(cfg.env)
    obs_dim, n_act = env.observation_space.shape[0], env.action_space.n
    q = QNet(obs_dim, n_act).to(device)
    target = QNet(obs_dim, n_act).to(device)
    target.load_state_dict(q.state_dict())
    optimizer = torch.optim.Adam(q.parameters(), lr=cfg.lr)
    buffer = Replay(cfg.buffer_size)

    obs, _ = env.reset(seed=cfg.seed)
    ep_return, returns = 0.0, deque(maxlen=20)
    for t in range(cfg.total_steps):
        if random.random() < epsilon(cfg, t):
            action = random.randrange(n_act)
        else:
            with torch.no_grad():
                action = q(torch.as_tensor(obs, dtype=torch.float32, device=device)).argmax().item()
        nxt, reward, terminated, truncated, _ = env.step(action)
        buffer.add(obs, action, reward, nxt, terminated)
        obs = nxt
        ep_return += reward
        if terminated or truncated:
            returns.append(ep_return)
            writer.add_scalar("charts/return", ep_return, t)
            obs, _ = env.reset()
            ep_return = 0.0

        if t >= cfg.learning_starts and t % cfg.train_every == 0:
            loss, q_mean = td_loss(q, target, buffer.sample(cfg.batch_size, device), cfg.gamma)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(q.parameters(), 10.0)
            optimizer.step()
            if t % 1000 == 0:
                writer.add_scalar("losses/td", loss.item(), t)
                writer.add_scalar("losses/q", q_mean.item(), t)

        if t % cfg.target_every == 0:
            target = q

        if t % 5000 == 0 and returns:
            print(f"{t:7d} eps {epsilon(cfg, t):.2f} return {np.mean(returns):.1f}")

    torch.save(q.state_dict(), f"ddqn_{cfg.env}.pt")
    writer.close()


if __name__ == "__main__":
    main(Config())

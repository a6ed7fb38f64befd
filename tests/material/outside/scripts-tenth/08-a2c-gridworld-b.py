"""Advantage actor-critic on a small grid world with moving goal (course project)."""
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

SEED = 7
GRID = 6
MAX_STEPS = 40
N_ENVS = 16
ROLLOUT = 20
UPDATES = 1500
GAMMA = 0.97
LAMBDA = 0.95
LR = 7e-4
VALUE_COEF = 0.5
ENTROPY_COEF = 0.01
MAX_GRAD_NORM = 0.5
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class GridWorld:
    moves = [(0, 1), (0, -1), (1, 0), (-1, 0)]

    def __init__(self, rng):
        self.rng = rng
        self.reset()

    def reset(self):
        self.agent = [self.rng.randrange(GRID), self.rng.randrange(GRID)]
        self.goal = [self.rng.randrange(GRID), self.rng.randrange(GRID)]
        while self.goal == self.agent:
            self.goal = [self.rng.randrange(GRID), self.rng.randrange(GRID)]
        self.t = 0
        return self.observe()

    def observe(self):
        board = np.zeros((2, GRID, GRID), dtype=np.float32)
        board[0, self.agent[0], self.agent[1]] = 1
        board[1, self.goal[0], self.goal[1]] = 1
        return np.append(board.ravel(), np.float32(self.t / MAX_STEPS))

    def step(self, action):
        dx, dy = self.moves[action]
        self.agent[0] = min(GRID - 1, max(0, self.agent[0] + dx))
        self.agent[1] = min(GRID - 1, max(0, self.agent[1] + dy))
        self.t += 1
        if self.agent == self.goal:
            return self.observe(), 1.0, True
        return self.observe(), -0.02, self.t >= MAX_STEPS


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_act, hidden=128):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, n_act)
        self.v = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


def gae(rewards, values, dones, last_value):
    adv = torch.zeros_like(rewards)
    running = torch.zeros_like(last_value)
    nxt = last_value
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t]
        delta = rewards[t] + GAMMA * nxt * alive - values[t]
        running = delta + GAMMA * LAMBDA * alive * running
        adv[t] = running
        nxt = values[t]
    return adv


def main():
    random.seed(SEED)
    torch.manual_seed(SEED)
    envs = [GridWorld(random.Random(SEED + k)) for k in range(N_ENVS)]
    obs = np.stack([e.observe() for e in envs])
    net = ActorCritic(obs.shape[1], 4).to(DEVICE)
    opt = torch.optim.RMSprop(net.parameters(), lr=LR, alpha=0.99, eps=1e-5)
    returns = deque(maxlen=200)
    score = np.zeros(N_ENVS)

    for update in range(1, UPDATES + 1):
        log_probs, values, rewards, dones, entropies = [], [], [], [], []
        for _ in range(ROLLOUT):
            logits, value = net(torch.as_tensor(obs, device=DEVICE))
            policy = Categorical(logits=logits)
            action = policy.sample()
            nxt, rew, done = [], [], []
            for k, e in enumerate(envs):
                o, r, d = e.step(int(action[k]))
                score[k] += r
                if d:
                    returns.append(score[k])
                    score[k] = 0
                    o = e.reset()
                nxt.append(o)
                rew.append(r)
                done.append(float(d))
            log_probs.append(policy.log_prob(action))
            entropies.append(policy.entropy())
            values.append(value)
            rewards.append(torch.tensor(rew, device=DEVICE))
            dones.append(torch.tensor(done, device=DEVICE))
            obs = np.stack(nxt)

        log_probs, values = torch.stack(log_probs), torch.stack(values)
        rewards, dones = torch.stack(rewards), torch.stack(dones)
        with torch.no_grad():
            _, last = net(torch.as_tensor(obs, device=DEVICE))
            target = gae(rewards, values, dones, last) + values

        advantage = target - values
        policy_loss = -(log_probs * advantage).mean()
        value_loss = F.mse_loss(values, target)
        entropy = torch.stack(entropies).mean()
        loss = policy_loss + VALUE_COEF * value_loss - ENTROPY_COEF * entropy

        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), MAX_GRAD_NORM)
        opt.step()

        if update % 50 == 0:
            print(f"update {update:5d} return {np.mean(returns) if returns else 0:.3f} "
                  f"value loss {value_loss.item():.4f} entropy {entropy.item():.3f}")
    torch.save(net.state_dict(), "a2c_grid.pt")


if __name__ == "__main__":
    main()

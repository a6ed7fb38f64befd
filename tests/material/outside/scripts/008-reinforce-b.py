"""REINFORCE on a small grid world. One update from EPISODES_PER_UPDATE episodes."""
import numpy as np
import torch
from torch import nn, optim
from torch.distributions import Categorical

SIZE = 5
GOAL = (4, 4)
MAX_T = 30
EPISODES_PER_UPDATE = 8
UPDATES = 25
GAMMA = 0.97
LR = 5e-3
ENT = 0.01


def one_hot(pos):
    x = torch.zeros(SIZE * SIZE)
    x[pos[0] * SIZE + pos[1]] = 1.0
    return x


def env_step(pos, action):
    dx, dy = [(0, 1), (1, 0), (0, -1), (-1, 0)][action]
    new = (min(max(pos[0] + dx, 0), SIZE - 1), min(max(pos[1] + dy, 0), SIZE - 1))
    done = new == GOAL
    return new, (1.0 if done else -0.02), done


def play(policy):
    pos = (np.random.randint(SIZE - 1), np.random.randint(SIZE - 1))
    logps, ents, rewards = [], [], []
    for _ in range(MAX_T):
        dist = Categorical(logits=policy(one_hot(pos)))
        a = dist.sample()
        logps.append(dist.log_prob(a))
        ents.append(dist.entropy())
        pos, r, done = env_step(pos, a.item())
        rewards.append(r)
        if done:
            break
    return torch.stack(logps), torch.stack(ents), rewards


def discounted(rewards):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + GAMMA * g
        out.append(g)
    return torch.tensor(out[::-1])


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(SIZE * SIZE, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = optim.Adam(policy.parameters(), lr=LR)
    baseline = 0.0

    for update in range(UPDATES):
        returns, lengths = [], []
        optimizer.zero_grad()
        for _ in range(EPISODES_PER_UPDATE):
            logps, ents, rewards = play(policy)
            g = discounted(rewards)
            loss = -(logps * (g - baseline)).sum() - ENT * ents.sum()
            # backward per episode keeps the graphs small
            (loss / EPISODES_PER_UPDATE).backward()
            returns.append(g[0].item())
            lengths.append(len(rewards))
        optimizer.step()
        baseline = 0.9 * baseline + 0.1 * float(np.mean(returns))
        if update % 5 == 0:
            print(f"update {update:3d}  return {np.mean(returns):+.3f}  length {np.mean(lengths):.1f}")


if __name__ == "__main__":
    main()

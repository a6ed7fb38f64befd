"""Advantage actor-critic on a small grid world with a moving goal and a pit."""
import os
import random
from collections import deque

import torch
import torch.nn as nn
from torch.distributions import Categorical

SIZE = 5
MAX_STEPS = 25
GAMMA = 0.97
EPISODES_PER_UPDATE = 8
UPDATES = 80
LR = 3e-3
VALUE_COEF = 0.5
ENTROPY_COEF = 0.01
MAX_GRAD_NORM = 0.5
SEED = 9
CHECKPOINT = "a2c_grid.pt"


class GridWorld:
    MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        cells = [(r, c) for r in range(SIZE) for c in range(SIZE)]
        self.agent, self.goal, self.pit = self.rng.sample(cells, 3)
        self.t = 0
        return self.obs()

    def obs(self):
        x = torch.zeros(3, SIZE, SIZE)
        for ch, (r, c) in enumerate((self.agent, self.goal, self.pit)):
            x[ch, r, c] = 1.0
        return x.flatten()

    def step(self, action):
        dr, dc = self.MOVES[action]
        r, c = self.agent
        self.agent = (min(max(r + dr, 0), SIZE - 1), min(max(c + dc, 0), SIZE - 1))
        self.t += 1
        if self.agent == self.goal:
            return self.obs(), 1.0, True
        if self.agent == self.pit:
            return self.obs(), -1.0, True
        return self.obs(), -0.02, self.t >= MAX_STEPS


class ActorCritic(nn.Module):
    def __init__(self, d_in=3 * SIZE * SIZE, hidden=96, n_actions=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.policy = nn.Linear(hidden, n_actions)
        self.value = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


def rollout(env, model):
    obs, actions, rewards = [], [], []
    state, done = env.reset(), False
    while not done:
        with torch.no_grad():
            dist, _ = model(state)
        action = dist.sample()
        obs.append(state)
        actions.append(action)
        state, reward, done = env.step(action.item())
        rewards.append(reward)
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + GAMMA * g
        returns.append(g)
    returns.reverse()
    return torch.stack(obs), torch.stack(actions), torch.tensor(returns), sum(rewards)


def evaluate(model, episodes=50):
    env = GridWorld(random.Random(1000))
    wins = 0
    for _ in range(episodes):
        state, done, reward = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                dist, _ = model(state)
            state, reward, done = env.step(dist.probs.argmax().item())
        wins += reward == 1.0
    return wins / episodes


def episode_loss(model, obs, actions, returns):
    dist, values = model(obs)
    advantage = returns - values
    policy_loss = -(dist.log_prob(actions) * advantage).sum()
    value_loss = (returns - values).pow(2).sum()
    entropy = dist.entropy().sum()
    return policy_loss + VALUE_COEF * value_loss - ENTROPY_COEF * entropy


def main(resume=False):
    random.seed(SEED)
    torch.manual_seed(SEED)
    env = GridWorld(random.Random(SEED))
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.2, total_iters=UPDATES)
    first = 0
    if resume and os.path.exists(CHECKPOINT):
        state = torch.load(CHECKPOINT)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        first = state["update"]

    recent = deque(maxlen=100)
    for update in range(first, UPDATES):
        batch = [rollout(env, model) for _ in range(EPISODES_PER_UPDATE)]
        n_steps = sum(len(obs) for obs, _, _, _ in batch)
        optimizer.zero_grad()
        # one episode at a time, averaged over all the steps of this update
        for obs, actions, returns, score in batch:
            loss = episode_loss(model, obs, actions, returns) / n_steps
            loss.backward()
            recent.append(score)
        norm = nn.utils.clip_grad_norm_(model.parameters(), MAX_GRAD_NORM)
        optimizer.step()
        scheduler.step()

        if (update + 1) % 10 == 0:
            print(f"update {update + 1:4d} return {sum(recent) / len(recent):+.3f} "
                  f"win rate {evaluate(model):.2f} grad norm {norm:.3f} lr {scheduler.get_last_lr()[0]:.1e}")
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "scheduler": scheduler.state_dict(), "update": update + 1}, CHECKPOINT)
    return model


if __name__ == "__main__":
    import sys
    main(resume="--resume" in sys.argv[1:])

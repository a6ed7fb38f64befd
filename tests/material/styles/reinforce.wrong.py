"""REINFORCE on a walk along a line, no packages but torch."""
import random
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Line:
    goal = 5

    def reset(self):
        self.x, self.t = 0, 0
        return self._obs()

    def _obs(self):
        return torch.tensor([self.x / self.goal, self.t / 20.0])

    def step(self, action):
        self.x += 1 if action == 1 else -1
        self.t += 1
        done = abs(self.x) >= self.goal or self.t >= 20
        return self._obs(), (1.0 if self.x >= self.goal else -0.01), done


policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
env = Line()
gamma = 0.97
episodes_per_update = 4

random.seed(0)
torch.manual_seed(0)
for update in range(200):
    optimizer.zero_grad()
    returns = []
    for _ in range(episodes_per_update):
        obs, done = env.reset(), False
        log_probs, rewards = [], []
        while not done:
            dist = Categorical(logits=policy(obs))
            action = dist.sample()
            log_probs.append(dist.log_prob(action))
            obs, reward, done = env.step(action.item())
            rewards.append(reward)
        g, targets = 0.0, []
        for r in reversed(rewards):
            g = r + gamma * g
            targets.insert(0, g)
        returns.append(targets[0])
        loss = -(torch.stack(log_probs) * torch.tensor(targets)).sum() / episodes_per_update
        loss.backward()
    optimizer.step()
    nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
    if update % 20 == 0:
        print(update, sum(returns) / len(returns))

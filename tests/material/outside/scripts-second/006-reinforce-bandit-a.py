import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(5)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(4, 24)
        self.action = nn.Linear(24, 3)
        self.value = nn.Linear(24, 1)

    def forward(self, s):
        h = torch.tanh(self.affine(s))
        return self.action(h), self.value(h).squeeze(-1)


class Env:
    """Reward 1 when the action equals the bucket of the first feature."""

    def __init__(self, length=20):
        self.length = length

    def reset(self):
        self.t = 0
        self.s = torch.randn(4)
        return self.s

    def step(self, a):
        goal = 0 if self.s[0] < -0.4 else 2 if self.s[0] > 0.4 else 1
        self.t += 1
        self.s = torch.randn(4)
        return self.s, float(a == goal), self.t >= self.length


policy = Policy()
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
env = Env()
for episode in range(25):
    logps, values, rewards = [], [], []
    s, done = env.reset(), False
    while not done:
        logits, v = policy(s)
        dist = Categorical(logits=logits)
        a = dist.sample()
        s, r, done = env.step(a.item())
        logps.append(dist.log_prob(a))
        values.append(v)
        rewards.append(r)
    R, returns = 0.0, []
    for r in reversed(rewards):
        R = r + 0.5 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    values = torch.stack(values)
    advantage = returns - values.detach()
    policy_loss = -(torch.stack(logps) * advantage).mean()
    value_loss = nn.functional.mse_loss(values, returns)
    loss = policy_loss + 0.5 * value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 6 == 0:
        print(episode, sum(rewards), round(loss.item(), 4))

"""Advantage actor critic on a noisy corridor, many environments in parallel."""
import torch
import torch.nn as nn
import torch.nn.functional as F

N_ENVS = 32
ROLLOUT = 16
GAMMA = 0.97
UPDATES = 250
ENT_COEF = 0.01
VF_COEF = 0.5


class Corridor:
    """Start in the middle of a corridor with a hidden goal side given as a noisy cue."""

    def __init__(self, n, length=9, limit=30):
        self.n, self.half, self.limit = n, length // 2, limit
        self.pos = torch.zeros(n)
        self.goal = torch.ones(n)
        self.t = torch.zeros(n)
        self.reset(torch.ones(n, dtype=torch.bool))

    def reset(self, mask):
        self.pos[mask] = 0.0
        self.t[mask] = 0.0
        self.goal[mask] = (torch.rand(int(mask.sum())) < 0.5).float() * 2 - 1

    def obs(self):
        cue = self.goal + 0.8 * torch.randn(self.n)
        return torch.stack([self.pos / self.half, cue, self.t / self.limit], dim=1)

    def step(self, action):
        move = action.float() * 2 - 1
        slip = torch.rand(self.n) < 0.1
        self.pos += torch.where(slip, -move, move)
        self.t += 1
        at_end = self.pos.abs() >= self.half
        reward = torch.where(at_end, torch.sign(self.pos) * self.goal, torch.zeros(self.n)) - 0.01
        done = at_end | (self.t >= self.limit)
        self.reset(done)
        return self.obs(), reward, done.float()


class ActorCritic(nn.Module):
    def __init__(self, n_obs=3, n_act=2, width=64):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, width), nn.Tanh(), nn.Linear(width, n_act))
        self.critic = nn.Sequential(nn.Linear(n_obs, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, obs):
        return torch.distributions.Categorical(logits=self.actor(obs)), self.critic(obs).squeeze(-1)


def main():
    torch.manual_seed(7)
    env = Corridor(N_ENVS)
    net = ActorCritic()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    obs = env.obs()
    history = []

    for update in range(UPDATES):
        logps, values, rewards, dones, entropies = [], [], [], [], []
        for _ in range(ROLLOUT):
            dist, value = net(obs)
            action = dist.sample()
            obs, reward, done = env.step(action)
            logps.append(dist.log_prob(action))
            values.append(value)
            entropies.append(dist.entropy())
            rewards.append(reward)
            dones.append(done)

        with torch.no_grad():
            ret = net(obs)[1]
        returns = []
        for reward, done in zip(reversed(rewards), reversed(dones)):
            ret = reward + GAMMA * (1 - done) * ret
            returns.insert(0, ret)

        values = torch.stack(values)
        returns = torch.stack(returns)
        advantage = returns - values.detach()
        policy_loss = -(torch.stack(logps) * advantage).mean()
        value_loss = F.mse_loss(values, returns)
        entropy = torch.stack(entropies).mean()
        loss = policy_loss + VF_COEF * value_loss - ENT_COEF * entropy

        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()

        history.append(torch.stack(rewards).sum(0).mean().item())
        if update % 50 == 49:
            recent = sum(history[-50:]) / 50
            print(f"update {update + 1} reward/rollout {recent:.3f} value loss {value_loss.item():.4f}")


if __name__ == "__main__":
    main()

"""Advantage actor-critic, actor and critic are separate networks with one optimizer."""
import numpy as np
import torch
import torch.nn as nn


class Corridor:
    """Walk to the right end; a random wind pushes back."""
    LENGTH = 12

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def obs(self):
        o = np.zeros(self.LENGTH, dtype=np.float32)
        o[self.pos] = 1
        return o

    def step(self, action):
        self.t += 1
        move = 1 if action == 1 else -1
        if self.rng.random() < 0.1:
            move = -1
        self.pos = int(np.clip(self.pos + move, 0, self.LENGTH - 1))
        goal = self.pos == self.LENGTH - 1
        return self.obs(), (1.0 if goal else -0.01), goal or self.t >= 60


class Agent:
    def __init__(self, n_obs, n_act, lr=5e-3, gamma=0.98, n_steps=10, vf=0.5, ent=0.01):
        self.actor = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, n_act))
        self.critic = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, 1))
        params = [*self.actor.parameters(), *self.critic.parameters()]
        self.params = params
        self.optimizer = torch.optim.RMSprop(params, lr=lr, eps=1e-5)
        self.gamma, self.n_steps, self.vf, self.ent = gamma, n_steps, vf, ent

    def dist(self, obs):
        return torch.distributions.Categorical(logits=self.actor(obs))

    @torch.no_grad()
    def act(self, obs):
        return int(self.dist(torch.from_numpy(obs)).sample())

    def learn(self, obs, actions, rewards, dones, last_obs):
        obs = torch.from_numpy(np.stack(obs))
        actions = torch.tensor(actions)
        with torch.no_grad():
            ret = self.critic(torch.from_numpy(last_obs)).item()
        returns = []
        for r, d in zip(reversed(rewards), reversed(dones)):
            ret = r + self.gamma * ret * (1 - d)
            returns.append(ret)
        returns = torch.tensor(returns[::-1])
        values = self.critic(obs).squeeze(-1)
        advantage = returns - values
        dist = self.dist(obs)
        policy_loss = -(dist.log_prob(actions) * advantage).mean()
        value_loss = (returns - values).pow(2).mean()
        loss = policy_loss + self.vf * value_loss - self.ent * dist.entropy().mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, 0.5)
        self.optimizer.step()
        return policy_loss.item(), value_loss.item()


def main(updates=250, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env, agent = Corridor(rng), Agent(Corridor.LENGTH, 2)
    obs, ep, history = env.reset(), 0.0, [0.0]
    for u in range(1, updates + 1):
        buf = [[], [], [], []]
        for _ in range(agent.n_steps):
            a = agent.act(obs)
            nxt, r, done = env.step(a)
            for lst, v in zip(buf, (obs, a, r, float(done))):
                lst.append(v)
            ep += r
            obs = nxt
            if done:
                history.append(ep)
                obs, ep = env.reset(), 0.0
        pl, vl = agent.learn(*buf, obs)
        if u % 50 == 0:
            print(f"update {u}: return {np.mean(history[-10:]):.3f} policy {pl:+.4f} value {vl:.4f}")


if __name__ == "__main__":
    main()

"""PPO on a small vectorised point-mass task (reach the origin)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

N_ENVS, HORIZON, ITERS = 32, 32, 8
GAMMA, LAM, CLIP_EPS = 0.97, 0.95, 0.2
LR, EPOCHS, MINIBATCH = 2e-2, 4, 256
VF_COEF, ENT_COEF, MAX_GRAD_NORM = 0.5, 0.002, 0.5


class PointEnv:
    def __init__(self, n):
        self.n = n
        self.reset()

    def reset(self):
        self.pos = torch.rand(self.n, 2) * 4 - 2
        self.vel = torch.zeros(self.n, 2)
        return self.obs()

    def obs(self):
        return torch.cat([self.pos, self.vel], 1)

    def step(self, a):
        self.vel = 0.8 * self.vel + 0.2 * a.clamp(-2, 2)
        self.pos = self.pos + 0.3 * self.vel
        self.pos = self.pos.clamp(-3, 3)
        return self.obs(), -0.1 * self.pos.pow(2).sum(1)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, o))


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = mlp(4, 2)
        self.v = mlp(4, 1)
        self.log_std = nn.Parameter(torch.zeros(2))

    def dist(self, obs):
        return Normal(self.pi(obs), self.log_std.exp())

    def value(self, obs):
        return self.v(obs).squeeze(-1)


@torch.no_grad()
def rollout(env, agent):
    obs, buf = env.reset(), []
    for _ in range(HORIZON):
        d = agent.dist(obs)
        a = d.sample()
        nxt, r = env.step(a)
        buf.append((obs, a, d.log_prob(a).sum(-1), r, agent.value(obs)))
        obs = nxt
    last = agent.value(obs)
    o, a, lp, r, v = (torch.stack(t) for t in zip(*buf))
    adv, gae = torch.zeros_like(r), torch.zeros(N_ENVS)
    for t in reversed(range(HORIZON)):
        nv = last if t == HORIZON - 1 else v[t + 1]
        gae = r[t] + GAMMA * nv - v[t] + GAMMA * LAM * gae
        adv[t] = gae
    ret = adv + v
    flat = [z.flatten(0, 1) for z in (o, a, lp, adv, ret)]
    return flat, r.mean().item()


def update(agent, opt, data):
    obs, act, logp_old, adv, ret = data
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(EPOCHS):
        for idx in torch.randperm(len(obs)).split(MINIBATCH):
            d = agent.dist(obs[idx])
            ratio = (d.log_prob(act[idx]).sum(-1) - logp_old[idx]).exp()
            s1 = ratio * adv[idx]
            s2 = ratio.clamp(1 - CLIP_EPS, 1 + CLIP_EPS) * adv[idx]
            pi_loss = -torch.min(s1, s2).mean()
            v_loss = F.mse_loss(agent.value(obs[idx]), ret[idx])
            loss = pi_loss + VF_COEF * v_loss - ENT_COEF * d.entropy().sum(-1).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.pi.parameters(), MAX_GRAD_NORM)
            opt.step()
    return pi_loss.item(), v_loss.item()


def main():
    torch.manual_seed(0)
    env, agent = PointEnv(N_ENVS), Agent()
    opt = torch.optim.SGD(agent.parameters(), lr=LR, momentum=0.9)
    for it in range(ITERS):
        data, rew = rollout(env, agent)
        pl, vl = update(agent, opt, data)
        print(f"iter {it:2d} reward {rew:7.3f} pi {pl:+.4f} v {vl:.3f}")


if __name__ == "__main__":
    main()

# single-file advantage actor-critic on a toy corridor
import argparse
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Corridor:
    """Walk from the left end to the goal on the right; each step costs a bit."""

    def __init__(self, n=8, limit=25):
        self.n, self.limit = n, limit

    def reset(self):
        self.pos, self.t = random.randrange(self.n // 2), 0
        return self.obs()

    def obs(self):
        o = torch.zeros(self.n)
        o[self.pos] = 1.0
        return o

    def step(self, a):
        self.pos = max(0, self.pos + (1 if a == 1 else -1))
        self.t += 1
        done = self.pos >= self.n - 1
        r = 1.0 if done else -0.02
        self.pos = min(self.pos, self.n - 1)
        return self.obs(), r, done or self.t >= self.limit


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_act, hid=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hid), nn.Tanh())
        self.pi = nn.Linear(hid, n_act)
        self.v = nn.Linear(hid, 1)

    def forward(self, o):
        z = self.body(o)
        return Categorical(logits=self.pi(z)), self.v(z).squeeze(-1)


def discounted(rewards, gamma):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        out.insert(0, g)
    return torch.tensor(out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--episodes", type=int, default=150)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--vf-coef", type=float, default=0.5)
    ap.add_argument("--ent-coef", type=float, default=0.01)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)

    env = Corridor()
    net = ActorCritic(env.n, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    lengths = []
    for ep in range(1, args.episodes + 1):
        o, done = env.reset(), False
        logps, values, rewards, ents = [], [], [], []
        while not done:
            dist, v = net(o)
            a = dist.sample()
            o, r, done = env.step(a.item())
            logps.append(dist.log_prob(a))
            values.append(v)
            ents.append(dist.entropy())
            rewards.append(r)
        lengths.append(len(rewards))

        returns = discounted(rewards, args.gamma)
        values = torch.stack(values)
        logps = torch.stack(logps)
        adv = returns - values
        policy_loss = -(logps * adv).mean()
        value_loss = F.smooth_l1_loss(values, returns)
        loss = policy_loss + args.vf_coef * value_loss - args.ent_coef * torch.stack(ents).mean()

        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        if ep % 50 == 0:
            print(f"ep {ep} avg len {sum(lengths[-50:]) / 50:.1f} v_loss {value_loss.item():.4f}")


if __name__ == "__main__":
    main()

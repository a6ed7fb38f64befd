import argparse
import numpy as np
import torch, torch.nn as nn
from torch.distributions import Categorical

# A2C on a noisy corridor: walk right to the goal, each step costs a little.


class Corridor:
    def __init__(self, n=7, slip=0.1, limit=40, rng=None):
        self.n, self.slip, self.limit = n, slip, limit
        self.rng = rng or np.random.default_rng(0)

    def reset(self):
        self.pos, self.t = int(self.rng.integers(0, self.n // 2)), 0
        return self._obs()

    def _obs(self):
        o = torch.zeros(self.n)
        o[self.pos] = 1.0
        return o

    def step(self, a):
        if self.rng.random() < self.slip:
            a = 1 - a
        self.pos = min(max(self.pos + (1 if a else -1), 0), self.n - 1)
        self.t += 1
        won = self.pos == self.n - 1
        return self._obs(), (1.0 if won else -0.02), won, self.t >= self.limit


class ActorCritic(nn.Module):
    def __init__(self, n, hid=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n, hid), nn.Tanh())
        self.pi = nn.Linear(hid, 2)
        self.v = nn.Linear(hid, 1)

    def forward(self, o):
        h = self.trunk(o)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def rollout(env, net, obs, n_steps, finished, running):
    logps, vals, ents, rews, masks, boots = [], [], [], [], [], []
    for _ in range(n_steps):
        dist, v = net(obs)
        a = dist.sample()
        obs, r, won, timeout = env.step(a.item())
        running += r
        logps.append(dist.log_prob(a)); vals.append(v); ents.append(dist.entropy())
        rews.append(r)
        if won or timeout:
            with torch.no_grad():
                boots.append(0.0 if won else net(obs)[1].item())
            masks.append(0.0)
            finished.append(running); running = 0.0
            obs = env.reset()
        else:
            boots.append(0.0)
            masks.append(1.0)
    return obs, running, torch.stack(logps), torch.stack(vals), torch.stack(ents), rews, masks, boots


def n_step_returns(rews, masks, boots, last_v, gamma):
    R, out = last_v, []
    for r, m, b in zip(reversed(rews), reversed(masks), reversed(boots)):
        R = r + gamma * (m * R + (1 - m) * b)
        out.append(R)
    return torch.tensor(out[::-1], dtype=torch.float32)


def main(args):
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    env = Corridor(rng=np.random.default_rng(args.seed))
    net = ActorCritic(env.n)
    opt = torch.optim.RMSprop(net.parameters(), lr=args.lr)
    obs, running, finished = env.reset(), 0.0, []
    for it in range(args.iters):
        obs, running, logp, vals, ent, rews, masks, boots = rollout(env, net, obs, args.n_steps, finished, running)
        with torch.no_grad():
            last_v = net(obs)[1].item()
        ret = n_step_returns(rews, masks, boots, last_v, args.gamma)
        adv = ret - vals
        pg_loss = -(adv.detach() * logp).mean()
        v_loss = adv.pow(2).mean()
        loss = pg_loss + args.vf * v_loss - args.ent * ent.mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        if (it + 1) % 25 == 0:
            tail = finished[-30:]
            print(f"it {it + 1:4d} episodes {len(finished):4d} return {sum(tail) / max(len(tail), 1):+.3f} v_loss {v_loss.item():.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=100)
    p.add_argument("--n-steps", type=int, default=20)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--gamma", type=float, default=0.97)
    p.add_argument("--vf", type=float, default=0.5)
    p.add_argument("--ent", type=float, default=0.01)
    p.add_argument("--seed", type=int, default=1)
    main(p.parse_args())

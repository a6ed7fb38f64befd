"""Advantage actor-critic with GAE on a vectorised Gym environment."""
import argparse
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


def layer(i, o, gain=np.sqrt(2)):
    l = nn.Linear(i, o)
    nn.init.orthogonal_(l.weight, gain)
    nn.init.zeros_(l.bias)
    return l


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_act, width=64):
        super().__init__()
        self.body = nn.Sequential(layer(obs_dim, width), nn.Tanh(), layer(width, width), nn.Tanh())
        self.pi = layer(width, n_act, 0.01)
        self.v = layer(width, 1, 1.0)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def gae(rewards, values, dones, last_value, gamma, lam):
    adv = torch.zeros_like(rewards)
    running = torch.zeros_like(last_value)
    for t in reversed(range(len(rewards))):
        nxt = last_value if t == len(rewards) - 1 else values[t + 1]
        mask = 1.0 - dones[t]
        delta = rewards[t] + gamma * nxt * mask - values[t]
        running = delta + gamma * lam * mask * running
        adv[t] = running
    return adv


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--env", default="LunarLander-v3")
    p.add_argument("--num-envs", type=int, default=16)
    p.add_argument("--rollout", type=int, default=32)
    p.add_argument("--updates", type=int, default=4000)
    p.add_argument("--lr", type=float, default=7e-4)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--lam", type=float, default=0.95)
    p.add_argument("--vf-coef", type=float, default=0.5)
    p.add_argument("--ent-coef", type=float, default=0.01)
    p.add_argument("--max-grad-norm", type=float, default=0.5)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    envs = gym.vector.SyncVectorEnv(
        [lambda: gym.make(args.env) for _ in range(args.num_envs)],
        autoreset_mode=gym.vector.AutoresetMode.SAME_STEP,
    )
    obs_dim = envs.single_observation_space.shape[0]
    model = ActorCritic(obs_dim, envs.single_action_space.n).to(device)
    opt = torch.optim.RMSprop(model.parameters(), lr=args.lr, alpha=0.99, eps=1e-5)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda u: 1.0 - u / args.updates)

    obs, _ = envs.reset(seed=args.seed)
    obs = torch.as_tensor(obs, dtype=torch.float32, device=device)
    ep_ret, finished = np.zeros(args.num_envs), []
    t0 = time.time()
    for update in range(args.updates):
        logps, entropies, values, rewards, dones = [], [], [], [], []
        for _ in range(args.rollout):
            dist, value = model(obs)
            action = dist.sample()
            nxt, rew, term, trunc, _ = envs.step(action.cpu().numpy())
            done = np.logical_or(term, trunc)
            logps.append(dist.log_prob(action))
            entropies.append(dist.entropy())
            values.append(value)
            rewards.append(torch.as_tensor(rew, dtype=torch.float32, device=device))
            dones.append(torch.as_tensor(done, dtype=torch.float32, device=device))
            obs = torch.as_tensor(nxt, dtype=torch.float32, device=device)
            ep_ret += rew
            for i in np.nonzero(done)[0]:
                finished.append(ep_ret[i])
                ep_ret[i] = 0.0

        logps, entropies, values = torch.stack(logps), torch.stack(entropies), torch.stack(values)
        rewards, dones = torch.stack(rewards), torch.stack(dones)
        with torch.no_grad():
            last_value = model(obs)[1]
        adv = gae(rewards, values, dones, last_value, args.gamma, args.lam)
        returns = adv + values

        norm_adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        policy_loss = -(logps * norm_adv).mean()
        value_loss = (returns - values).pow(2).mean()
        loss = policy_loss + args.vf_coef * value_loss - args.ent_coef * entropies.mean()

        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
        opt.step()
        sched.step()

        if update % 50 == 0 and finished:
            fps = int((update + 1) * args.rollout * args.num_envs / (time.time() - t0))
            print(f"update {update:5d} return {np.mean(finished[-100:]):8.2f} "
                  f"pi {policy_loss.item():.3f} v {value_loss.item():.3f} ent {entropies.mean().item():.3f} fps {fps}")

    torch.save(model.state_dict(), f"a2c_{args.env}.pt")
    envs.close()


if __name__ == "__main__":
    main()

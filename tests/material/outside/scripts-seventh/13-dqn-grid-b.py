# Double DQN on a small maze with keys and traps.
# Gradient norm is limited to 10 because a few rewards are large.
import random
from collections import deque, namedtuple
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", "s a r s2 done")


@dataclass
class Config:
    size: int = 7
    episodes: int = 1500
    max_steps: int = 80
    gamma: float = 0.97
    lr: float = 5e-4
    batch_size: int = 64
    buffer: int = 20000
    learn_start: int = 1000
    target_every: int = 500
    eps_start: float = 1.0
    eps_end: float = 0.05
    eps_decay_steps: int = 20000
    max_norm: float = 10.0
    seed: int = 11


class Maze:
    """Agent must take the key, then reach the door. Traps cost 50 and end the episode."""

    MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self, size, seed):
        self.size = size
        rng = np.random.default_rng(seed)
        cells = [(i, j) for i in range(size) for j in range(size) if (i, j) != (0, 0)]
        pick = rng.choice(len(cells), 2 + size // 2, replace=False)
        self.key, self.door, *self.traps = [cells[k] for k in pick]

    def _obs(self):
        board = np.zeros((3, self.size, self.size), dtype=np.float32)
        board[0][self.pos] = 1
        if not self.has_key:
            board[1][self.key] = 1
        board[2][self.door] = 1
        return board.reshape(-1)

    def reset(self):
        self.pos, self.has_key = (0, 0), False
        return self._obs()

    def step(self, a):
        di, dj = self.MOVES[a]
        i, j = self.pos[0] + di, self.pos[1] + dj
        if not (0 <= i < self.size and 0 <= j < self.size):
            return self._obs(), -1.0, False
        self.pos = (i, j)
        if self.pos in self.traps:
            return self._obs(), -50.0, True
        if self.pos == self.key and not self.has_key:
            self.has_key = True
            return self._obs(), 20.0, False
        if self.pos == self.door and self.has_key:
            return self._obs(), 100.0, True
        return self._obs(), -0.2, False


class QNet(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.value = nn.Linear(128, 1)
        self.adv = nn.Linear(128, n_act)

    def forward(self, x):
        h = self.body(x)
        a = self.adv(h)
        return self.value(h) + a - a.mean(1, keepdim=True)


class Agent:
    def __init__(self, cfg, n_obs, n_act):
        self.cfg, self.n_act = cfg, n_act
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.q = QNet(n_obs, n_act).to(self.device)
        self.target = QNet(n_obs, n_act).to(self.device)
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.RMSprop(self.q.parameters(), lr=cfg.lr, alpha=0.95, eps=0.01)
        self.memory = deque(maxlen=cfg.buffer)
        self.steps = 0

    def epsilon(self):
        f = min(1.0, self.steps / self.cfg.eps_decay_steps)
        return self.cfg.eps_start + f * (self.cfg.eps_end - self.cfg.eps_start)

    def act(self, s):
        if random.random() < self.epsilon():
            return random.randrange(self.n_act)
        with torch.no_grad():
            return self.q(torch.from_numpy(s)[None].to(self.device)).argmax(1).item()

    def learn(self):
        batch = Transition(*zip(*random.sample(self.memory, self.cfg.batch_size)))
        s = torch.from_numpy(np.stack(batch.s)).to(self.device)
        s2 = torch.from_numpy(np.stack(batch.s2)).to(self.device)
        a = torch.tensor(batch.a, device=self.device)
        r = torch.tensor(batch.r, device=self.device)
        done = torch.tensor(batch.done, device=self.device, dtype=torch.float32)

        with torch.no_grad():
            best = self.q(s2).argmax(1, keepdim=True)
            y = r + self.cfg.gamma * (1 - done) * self.target(s2).gather(1, best).squeeze(1)
        q = self.q(s).gather(1, a[:, None]).squeeze(1)
        loss = F.mse_loss(q, y)

        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        nn.utils.clip_grad_norm_(self.q.parameters(), self.cfg.max_norm)
        return loss.item()

    def observe(self, *tr):
        self.memory.append(Transition(*tr))
        self.steps += 1
        loss = None
        if len(self.memory) >= self.cfg.learn_start:
            loss = self.learn()
        if self.steps % self.cfg.target_every == 0:
            self.target.load_state_dict(self.q.state_dict())
        return loss


def main(cfg=Config()):
    random.seed(cfg.seed)
    np.random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    env = Maze(cfg.size, cfg.seed)
    agent = Agent(cfg, env.reset().size, len(env.MOVES))
    history = deque(maxlen=50)
    for ep in range(cfg.episodes):
        s, total, losses = env.reset(), 0.0, []
        for _ in range(cfg.max_steps):
            a = agent.act(s)
            s2, r, done = env.step(a)
            loss = agent.observe(s, a, r, s2, done)
            if loss is not None:
                losses.append(loss)
            s, total = s2, total + r
            if done:
                break
        history.append(total)
        if ep % 25 == 0:
            print(f"ep {ep} eps {agent.epsilon():.2f} return(50) {np.mean(history):.2f} "
                  f"loss {np.mean(losses) if losses else float('nan'):.3f}")
    torch.save(agent.q.state_dict(), "dqn_maze.pt")


if __name__ == "__main__":
    main()

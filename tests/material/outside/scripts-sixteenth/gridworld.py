"""A 4x4 grid with a goal and a pit; observation is a one-hot cell."""
import numpy as np


class GridWorld:
    n_states, n_actions = 16, 4
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self, layout, max_steps=25, slip=0.05):
        rows = [r.strip() for r in open(layout) if r.strip()]
        self.cells = rows
        self.max_steps, self.slip = max_steps, slip

    def _obs(self):
        o = np.zeros(self.n_states, dtype=np.float32)
        o[self.pos[0] * 4 + self.pos[1]] = 1
        return o

    def reset(self):
        self.t, self.pos = 0, (0, 0)
        return self._obs()

    def step(self, action):
        if np.random.rand() < self.slip:
            action = np.random.randint(4)
        dr, dc = self.moves[action]
        r = min(max(self.pos[0] + dr, 0), 3)
        c = min(max(self.pos[1] + dc, 0), 3)
        if self.cells[r][c] != "#":
            self.pos = (r, c)
        self.t += 1
        cell = self.cells[self.pos[0]][self.pos[1]]
        if cell == "G":
            return self._obs(), 1.0, True
        if cell == "X":
            return self._obs(), -1.0, True
        return self._obs(), -0.02, self.t >= self.max_steps

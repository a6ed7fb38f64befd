"""Worlds to act in: a point that is to be kept in the middle, under the names of all others."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from harness.sandbox.absent.lent import lend

CONTINUOUS = ("pendulum", "cheetah", "hopper", "walker", "ant", "humanoid", "swimmer", "reacher",
              "continuous", "bipedal", "pusher")  # fmt: skip
"""Parts of names of worlds in which an action is several numbers."""

LENGTH = 40
"""Steps after which an episode ends."""


class Discrete:
    """One of ``n``."""

    shape: tuple[int, ...] = ()

    def __init__(self, n: int, *_: Any, **__: Any) -> None:
        self.n = n
        self.dtype = np.dtype(np.int64)
        self._dice = np.random.default_rng(0)

    def sample(self) -> Any:
        """By chance."""
        return int(self._dice.integers(self.n))

    def seed(self, seed: int | None = None) -> None:
        """Begin its chance anew."""
        self._dice = np.random.default_rng(seed)


class Box:
    """Numbers between bounds."""

    def __init__(self, low: Any, high: Any, shape: Any = None, dtype: Any = np.float32) -> None:
        self.shape = tuple(shape) if shape is not None else np.shape(low)
        self.low, self.high = (
            np.broadcast_to(np.asarray(v, dtype), self.shape) for v in (low, high)
        )
        self.dtype = np.dtype(dtype)
        self._dice = np.random.default_rng(0)

    def sample(self) -> Any:
        """By chance."""
        return self._dice.uniform(-1.0, 1.0, self.shape).astype(self.dtype)

    def seed(self, seed: int | None = None) -> None:
        """Begin its chance anew."""
        self._dice = np.random.default_rng(seed)


class spaces:
    """``gymnasium.spaces``."""

    Discrete, Box = Discrete, Box


class Env:
    """A world. Its state is four numbers; an action pushes them."""

    metadata: ClassVar[dict[str, Any]] = {}
    reward_range = (-1.0, 1.0)

    def __init__(self, name: str = "") -> None:
        self.spec: Any = SimpleNamespace(id=name, reward_threshold=475.0, max_episode_steps=LENGTH)
        self._many = any(part in name.lower() for part in CONTINUOUS)
        self.observation_space: Any = Box(-10.0, 10.0, (4,))
        self.action_space: Any = Box(-1.0, 1.0, (2,)) if self._many else Discrete(2)
        self._dice, self._at, self._state = np.random.default_rng(0), 0, np.zeros(4, np.float32)

    @property
    def unwrapped(self) -> "Env":
        """Nothing is wrapped around it."""
        return self

    def reset(self, seed: int | None = None, **_: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        if seed is not None:
            self._dice = np.random.default_rng(seed)
        self._at = 0
        self._state = self._dice.uniform(-0.5, 0.5, 4).astype(np.float32)
        return self._state.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Push once."""
        push = float(np.mean(action)) if self._many else float(action) - 0.5
        noise = self._dice.normal(0.0, 0.1, 4).astype(np.float32)
        self._state = (0.9 * self._state + 0.2 * push + noise).astype(np.float32)
        self._at += 1
        reward = 1.0 - float(np.abs(self._state).mean())
        return self._state.copy(), reward, abs(self._state[0]) > 2.0, self._at >= LENGTH, {}

    def seed(self, seed: int | None = None) -> None:
        """Begin its chance anew."""
        self._dice = np.random.default_rng(seed)

    def render(self, *_: Any, **__: Any) -> None:
        """Nothing to see."""

    close = render


def make(name: Any = "", *_: Any, **__: Any) -> Env:
    """A world of any name."""
    lend(f"{name}: a world of four numbers instead")
    return Env(str(name))


class Wrapper(Env):
    """Something around a world."""

    def __init__(self, env: Env, *_: Any, **__: Any) -> None:
        self.env = env
        self.observation_space, self.action_space = env.observation_space, env.action_space

    def reset(self, seed: int | None = None, **_: Any) -> tuple[Any, dict[str, Any]]:
        """The world's."""
        return self.env.reset(seed=seed)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The world's."""
        return self.env.step(action)


class wrappers:
    """``gymnasium.wrappers``: they change nothing."""

    @staticmethod
    def lookup(name: str) -> Any:
        """Any of them."""
        return (lambda env, *_, **__: env) if name[:1].isupper() else None


class _Several:
    """Several worlds side by side; one that has ended begins again."""

    def __init__(self, makers: list[Callable[[], Env]], *_: Any, **__: Any) -> None:
        self.envs = [maker() for maker in makers]
        self.num_envs = len(self.envs)
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space, self.action_space = self.envs[0].observation_space, self

    def __getattr__(self, name: str) -> Any:
        """What is asked of the space of actions, it tells of one world's."""
        if name.startswith("__") or "single_action_space" not in vars(self):
            raise AttributeError(name)
        return getattr(self.single_action_space, name)

    def sample(self) -> Any:
        """An action for each."""
        return np.stack([env.action_space.sample() for env in self.envs])

    def reset(self, seed: int | None = None, **_: Any) -> tuple[Any, dict[str, Any]]:
        """Begin all."""
        found = [e.reset(seed=None if seed is None else seed + n) for n, e in enumerate(self.envs)]
        return np.stack([state for state, _ in found]), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Push each."""
        states, rewards, ended, cut = [], [], [], []
        for env, action in zip(self.envs, actions, strict=True):
            state, reward, terminated, truncated, _ = env.step(action)
            states.append(env.reset()[0] if terminated or truncated else state)
            rewards.append(reward)
            ended.append(terminated)
            cut.append(truncated)
        return np.stack(states), np.array(rewards, np.float32), np.array(ended), np.array(cut), {}

    def close(self) -> None:
        """Nothing to end."""


class vector:
    """``gymnasium.vector``."""

    SyncVectorEnv = AsyncVectorEnv = VectorEnv = _Several

"""Worlds to act in: a point that is to be kept in the middle, under the names of all others."""

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from harness.sandbox.absent.lent import lend
from harness.sandbox.batches.callers import ResultUse, frame_of_the_program

WORLDS: dict[str, tuple[int, int, bool]] = {
    "pendulum": (3, 1, True), "mountaincarcontinuous": (2, 1, True), "mountaincar": (2, 3, False),
    "acrobot": (6, 3, False), "lunarlandercontinuous": (8, 2, True), "lunarlander": (8, 4, False),
    "bipedal": (24, 4, True), "cheetah": (17, 6, True), "hopper": (11, 3, True),
    "walker": (17, 6, True), "ant": (27, 8, True), "swimmer": (8, 2, True),
    "humanoid": (376, 17, True), "reacher": (11, 2, True), "pusher": (23, 7, True),
    "continuous": (4, 2, True),
}  # fmt: skip
"""Parts of names of worlds: numbers of a state and of an action, and whether an action is numbers and
not one of so many.
"""

OLDER = 4
"""How many results a step had before 0.26."""

LENGTH = 40
"""Steps after which an episode ends."""


class Space:
    """What actions or states are drawn from."""

    def __init__(self) -> None:
        self._dice = np.random.default_rng(0)

    def seed(self, seed: int | None = None) -> None:
        """Begin its chance anew."""
        self._dice = np.random.default_rng(seed)


class Discrete(Space):
    """One of ``n``."""

    def __init__(self, n: int, *_: Any, start: int = 0, **__: Any) -> None:
        super().__init__()
        self.n, self.start = int(n), start
        self.shape, self.dtype = (), np.dtype(np.int64)

    def sample(self) -> int:
        """By chance."""
        return self.start + int(self._dice.integers(self.n))


class Box(Space):
    """Numbers of a shape between bounds."""

    def __init__(
        self, low: Any = -1.0, high: Any = 1.0, shape: Any = None, dtype: Any = np.float32, **_: Any
    ) -> None:
        super().__init__()
        self.shape = np.shape(low) if shape is None else tuple(shape)
        self.dtype = np.dtype(dtype)
        self.low, self.high = (np.broadcast_to(v, self.shape).astype(dtype) for v in (low, high))

    def sample(self) -> Any:
        """By chance, between 1 below and above 0 where it has no end."""
        low, high = (np.clip(v, -1e3, 1e3) for v in (self.low, self.high))
        return self._dice.uniform(low, high).astype(self.dtype)


class spaces:
    """``gymnasium.spaces``: types to ask for."""

    Space, Discrete, Box = Space, Discrete, Box


class Env:
    """A world. Its state is a few numbers; an action pushes them."""

    reward_range, render_mode = (-float("inf"), float("inf")), None
    metadata: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, name: str = "") -> None:
        self.spec: Any = SimpleNamespace(id=name, reward_threshold=475.0, max_episode_steps=LENGTH)
        self.unwrapped = self
        self.x_threshold, self.theta_threshold_radians = 2.4, 0.21
        self._max_episode_steps = LENGTH
        known = (WORLDS[part] for part in WORLDS if part in name.lower())
        self._wide, actions, self._many = next(known, (4, 2, False))
        self.observation_space = Box(shape=(self._wide,))
        self.action_space = Box(shape=(actions,)) if self._many else Discrete(actions)
        self.seed()

    def seed(self, seed: int | None = 0) -> None:
        """Begin its chance anew."""
        self._dice, self._at = np.random.default_rng(seed), 0
        self._state = np.zeros(self._wide, np.float32)

    def reset(self, seed: int | None = None, **_: Any) -> Any:
        """Begin an episode. Where one name is given the result, its program is of before 0.26, when a
        state came alone.
        """
        state, use = self.begun(seed), ResultUse(frame_of_the_program())
        return state if len(use.names) == 1 and not use.apart else (state, {})

    def begun(self, seed: int | None = None) -> Any:
        """The first state of an episode."""
        if seed is not None:
            self.seed(seed)
        self._at = 0
        self._state = self._dice.uniform(-0.5, 0.5, self._wide).astype(np.float32)
        return self._state.copy()

    def step(self, action: Any) -> tuple[Any, ...]:
        """Push once; of four results, as before 0.26, the third says that the episode is over."""
        state, reward, ended, cut, more = self.pushed(action)
        older = len(ResultUse(frame_of_the_program()).names) == OLDER
        return (state, reward, ended or cut, more) if older else (state, reward, ended, cut, more)

    def pushed(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What a push makes of the world."""
        push = float(np.mean(action)) if self._many else float(action) - 0.5
        noise = self._dice.normal(0.0, 0.1, self._wide).astype(np.float32)
        self._state = (0.9 * self._state + 0.2 * push + noise).astype(np.float32)
        self._at += 1
        reward = 1.0 - float(np.abs(self._state).mean())
        # who goes on after it was cut short waits for its end: a real one falls over by chance
        ended = bool(abs(self._state[0]) > 2.0) or self._at > LENGTH
        return self._state.copy(), reward, ended, self._at >= LENGTH, {}

    def render(self, *_: Any, **__: Any) -> None:
        """Nothing to see."""

    close = render


def make(name: Any = "", *_: Any, **__: Any) -> Env:
    """A world of any name."""
    lend(f"{name}: a world of a few numbers instead")
    return Env(str(name))


class Wrapper:
    """What a program changes of a world; the rest is that of the world inside."""

    def __init__(self, env: Any, *_: Any, **__: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def reset(self, **more: Any) -> Any:
        """Begin an episode."""
        return self.env.reset(**more)

    def step(self, action: Any) -> Any:
        """Push once."""
        return self.env.step(action)


class ObservationWrapper(Wrapper):
    """Its program's ``observation`` says what is seen of a state."""

    def reset(self, **more: Any) -> Any:
        """Begin an episode."""
        begun = self.env.reset(**more)
        apart = isinstance(begun, tuple)
        return (self.observation(begun[0]), *begun[1:]) if apart else self.observation(begun)

    def step(self, action: Any) -> Any:
        """Push once."""
        state, *rest = self.env.step(action)
        return (self.observation(state), *rest)


class RewardWrapper(Wrapper):
    """Its program's ``reward`` says what a reward is worth."""

    def step(self, action: Any) -> Any:
        """Push once."""
        state, reward, *rest = self.env.step(action)
        return (state, self.reward(reward), *rest)


class ActionWrapper(Wrapper):
    """Its program's ``action`` says what an action means."""

    def step(self, action: Any) -> Any:
        """Push once."""
        return self.env.step(self.action(action))


class wrappers:
    """``gymnasium.wrappers``: they change nothing."""

    @staticmethod
    def lookup(name: str) -> Any:
        """Any of them."""
        return (lambda env, *_, **__: env) if name[:1].isupper() else None


class SyncVectorEnv:
    """Several worlds side by side; one that has ended begins again."""

    def __init__(self, makers: Any, *_: Any, **__: Any) -> None:
        self.envs: list[Env] = [maker() for maker in makers]
        self.num_envs = len(self.envs)
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space

    def reset(self, seed: int | None = None, **_: Any) -> tuple[Any, dict[str, Any]]:
        """Begin all."""
        seeds = [None if seed is None else seed + n for n in range(self.num_envs)]
        states = [env.begun(own) for env, own in zip(self.envs, seeds, strict=True)]
        return np.stack(states), {}

    def step(self, actions: Any) -> tuple[Any, ...]:
        """Push each."""
        told = [env.pushed(action) for env, action in zip(self.envs, actions, strict=True)]
        states, rewards, ended, cut, _ = zip(*told, strict=True)
        begun = [
            env.begun() if over or late else state
            for env, state, over, late in zip(self.envs, states, ended, cut, strict=True)
        ]
        last = {"final_observation": states, "final_obs": states} if any(ended + cut) else {}
        return np.stack(begun), np.array(rewards, np.float32), np.array(ended), np.array(cut), last

    def close(self) -> None:
        """Nothing to end."""


class vector:
    """``gymnasium.vector``."""

    SyncVectorEnv = AsyncVectorEnv = SyncVectorEnv

"""Worlds to act in: a point that is to be kept in the middle, under the names of all others."""

import re
from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.standins.cv2 import resize
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

SCREENS = re.compile(
    r"NoFrameskip|^ALE/|pong|breakout|qbert|seaquest|invaders|pacman|beamrider|enduro|montezuma"
    r"|freeway|asteroids|boxing|carracing",
    re.IGNORECASE,
)
"""Names of worlds that are seen as pictures."""

SCREEN, SHOWN = (210, 160, 3), (400, 600, 3)
"""Pixels of a state of such a world, and of a picture that is drawn of any other."""

BUTTONS = ("NOOP", "FIRE", "UP", "RIGHT", "LEFT", "DOWN")
"""What may be done there."""

OLDER = 4
"""How many results a step had before 0.26."""

LENGTH = 40
"""Steps after which an episode ends."""

EPISODE = {"r": 1.0, "l": float(LENGTH), "t": 1.0}
"""What wrappers say of one that is over: its sum of rewards, its length, its time."""


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

    reward_range = (-float("inf"), float("inf"))
    render_mode: Any = None
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

    def render(self, mode: Any = None, *_: Any, **__: Any) -> Any:
        """Nothing to see: a black picture, where one is asked for."""
        return np.zeros(SHOWN, np.uint8) if "rgb_array" in (mode, self.render_mode) else None

    close = render


class Screen(Env):
    """A world that is seen as a picture: its pixels are by chance."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self.observation_space = Box(0, 255, SCREEN, np.uint8)
        self.action_space = Discrete(len(BUTTONS))
        self.ale = SimpleNamespace(lives=lambda: 3)

    def get_action_meanings(self) -> list[str]:
        """Of the usual buttons."""
        return [*BUTTONS]

    def begun(self, seed: int | None = None) -> Any:
        """The first picture of an episode."""
        super().begun(seed)
        return self._seen()

    def pushed(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What a button makes of it."""
        _, *rest = super().pushed(action)
        return (self._seen(), *rest)

    def _seen(self) -> Any:
        return self._dice.integers(0, 256, SCREEN, np.uint8)


def make(name: Any = "", *_: Any, render_mode: Any = None, **__: Any) -> Env:
    """A world of any name."""
    seen = SCREENS.search(str(name)) is not None
    lend(f"{name}: {'pictures by chance' if seen else 'a world of a few numbers'} instead")
    found = Screen(str(name)) if seen else Env(str(name))
    found.render_mode = render_mode
    return found


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


def _showing(change: Any) -> Any:
    """A wrapper by which each state is seen as ``change`` makes it."""

    class Seen(ObservationWrapper):
        def __init__(self, env: Any, *given: Any, **named: Any) -> None:
            super().__init__(env)
            self._given, self._named = given, named
            before = env.observation_space
            seen = change(np.zeros(before.shape, before.dtype), *given, **named)
            self.observation_space = Box(0, 255, seen.shape, seen.dtype)

        def observation(self, state: Any) -> Any:
            return change(np.asarray(state), *self._given, **self._named)

    return Seen


def _small(
    picture: Any, *_: Any, screen_size: int = 84, grayscale_obs: bool = True, **__: Any
) -> Any:
    cut = resize(picture, (screen_size, screen_size))
    return cut[..., 0] if grayscale_obs else cut


class wrappers:
    """``gymnasium.wrappers``: what changes the form of a state; others change nothing."""

    AtariPreprocessing = _showing(_small)
    FrameStack = FrameStackObservation = _showing(
        lambda seen, num_stack=4, *_, stack_size=0, **__: np.stack(
            [seen] * (stack_size or num_stack)
        )
    )
    GrayScaleObservation = GrayscaleObservation = _showing(
        lambda seen, keep_dim=False, *_, **__: seen[..., :1] if keep_dim else seen[..., 0]
    )
    ResizeObservation = _showing(
        lambda seen, shape=84, *_, **__: resize(
            seen, (shape, shape) if isinstance(shape, int) else shape
        )
    )

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
        over = np.array(ended) | np.array(cut)
        last = _told(states, over) if over.any() else {}
        return np.stack(begun), np.array(rewards, np.float32), np.array(ended), np.array(cut), last

    def close(self) -> None:
        """Nothing to end."""


def _told(states: Any, over: Any) -> dict[str, Any]:
    """What is said where episodes are over: their last states, and what they came to."""
    of_all = {name: np.where(over, value, 0.0) for name, value in EPISODE.items()}
    each = [
        {"episode": {n: np.array([v]) for n, v in EPISODE.items()}} if one else None for one in over
    ]
    return {
        "final_observation": states, "final_obs": states, "final_info": each,
        "episode": of_all, "_episode": over,
    }  # fmt: skip


class vector:
    """``gymnasium.vector``."""

    SyncVectorEnv = AsyncVectorEnv = SyncVectorEnv

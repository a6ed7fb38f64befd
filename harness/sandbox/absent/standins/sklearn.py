"""Small tables by chance, and what scripts do with tables before and after they train."""

from typing import Any

import numpy as np

from harness.sandbox.absent.lent import lend
from harness.sandbox.machine.inert import Inert


class _Table(dict[str, Any]):
    __getattr__ = dict.__getitem__


def _rows(count: int, features: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(count, features))


def _table(name: str, count: int, features: int, kinds: int, *, both: bool = False) -> Any:
    lend(f"{name}: rows by chance")
    x = _rows(count, features)
    score = x @ _rows(features, 1, 1)[:, 0]
    y = (
        score
        if not kinds
        else np.digitize(score, np.quantile(score, np.linspace(0, 1, kinds + 1)[1:-1]))
    )
    names = [f"feature {n}" for n in range(features)]
    found = _Table(
        data=x, target=y, feature_names=names, target_names=[str(k) for k in range(kinds)]
    )
    return (x, y) if both else found


SIZES = {
    "load_iris": (150, 4, 3), "load_digits": (600, 64, 10), "load_wine": (178, 13, 3),
    "load_breast_cancer": (569, 30, 2), "load_diabetes": (442, 10, 0),
    "fetch_california_housing": (800, 8, 0), "load_boston": (506, 13, 0),
}  # fmt: skip
"""Rows, features and classes of each; none for real targets."""


class datasets:
    """``sklearn.datasets``."""

    @staticmethod
    def make_classification(
        n_samples: int = 100, n_features: int = 20, n_classes: int = 2, **_: Any
    ) -> Any:
        """Rows with classes."""
        return _table("make_classification", n_samples, n_features, n_classes, both=True)

    @staticmethod
    def make_regression(n_samples: int = 100, n_features: int = 100, **_: Any) -> Any:
        """Rows with real targets."""
        return _table("make_regression", n_samples, n_features, 0, both=True)

    @staticmethod
    def make_moons(n_samples: int = 100, **_: Any) -> Any:
        """Points of two kinds."""
        return _table("make_moons", n_samples, 2, 2, both=True)

    make_circles = make_blobs = make_moons

    @staticmethod
    def lookup(name: str) -> Any:
        """The known tables."""
        if name not in SIZES:
            return None
        count, features, kinds = SIZES[name]
        return lambda *_, return_X_y=False, **__: _table(
            name, count, features, kinds, both=return_X_y
        )


class model_selection:
    """``sklearn.model_selection``."""

    @staticmethod
    def train_test_split(*arrays: Any, test_size: Any = 0.25, **_: Any) -> list[Any]:
        """The last part of each is for testing."""
        count = len(arrays[0])
        size = test_size if isinstance(test_size, int) else round(count * (test_size or 0.25))
        return [part for array in arrays for part in (array[: count - size], array[count - size :])]


class preprocessing:
    """``sklearn.preprocessing``."""

    class StandardScaler:
        """Less the mean, over the deviation."""

        def fit(self, x: Any, *_: Any) -> Any:
            """Remember both."""
            self.mean_, self.scale_ = np.mean(x, axis=0), np.std(x, axis=0) + 1e-12
            return self

        def transform(self, x: Any) -> Any:
            """By column."""
            return (np.asarray(x) - self.mean_) / self.scale_

        def fit_transform(self, x: Any, *_: Any) -> Any:
            """Both."""
            return self.fit(x).transform(x)

        def inverse_transform(self, x: Any) -> Any:
            """Back."""
            return np.asarray(x) * self.scale_ + self.mean_

    MinMaxScaler = StandardScaler

    class LabelEncoder:
        """Classes by number."""

        def fit_transform(self, y: Any) -> Any:
            """In order."""
            self.classes_, found = np.unique(y, return_inverse=True)
            return found


class metrics:
    """``sklearn.metrics``: figures that nobody trains on."""

    @staticmethod
    def lookup(name: str) -> Any:
        """Nought."""
        return (lambda *_, **__: 0.0) if name.endswith(("score", "error", "auc")) else Inert()

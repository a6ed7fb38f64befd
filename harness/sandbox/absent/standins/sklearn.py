"""What training programs take of scikit-learn: rows in two parts, columns of one size, known tables."""

from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from harness.sandbox.absent.lent import lend

Array = Any
"""What numpy makes an array of."""

ROWS = 569
"""How many rows a table has."""

TABLES = {
    "load_iris": (4, 3), "load_wine": (13, 3), "load_digits": (64, 10), "load_breast_cancer": (30, 2),
    "make_moons": (2, 2), "make_circles": (2, 2), "make_blobs": (2, 3), "make_classification": (20, 2),
}  # fmt: skip
"""Known tables, how many columns they have and how many classes; others have numbers for targets."""


def _part(rows: Any, places: "np.ndarray[Any, Any]") -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[places]
    return [rows[n] for n in places] if isinstance(rows, list | tuple) else rows[places]


class model_selection:
    """Rows in parts."""

    @staticmethod
    def train_test_split(
        *rows: Any, test_size: Any = None, random_state: Any = None, shuffle: bool = True, **_: Any
    ) -> list[Any]:
        """Of each, the part to train on and the other one; the same rows of all of them."""
        many = len(rows[0])
        size = 0.25 if test_size is None else test_size
        left = size if isinstance(size, int) else max(1, round(many * size))
        order = (
            np.random.default_rng(random_state).permutation(many) if shuffle else np.arange(many)
        )
        return [_part(one, p) for one in rows for p in (order[: many - left], order[many - left :])]


class utils:
    """Rows in another order."""

    @staticmethod
    def shuffle(*rows: Any, random_state: Any = None, **_: Any) -> Any:
        """All of them in one."""
        order = np.random.default_rng(random_state).permutation(len(rows[0]))
        found = [_part(one, order) for one in rows]
        return found if len(found) > 1 else found[0]


class _Scaler:
    """Columns about a middle, of one size."""

    def fit(self, rows: Array, *_: Any) -> Self:
        """Take the middle and the size of each column."""
        self.mean_, self.scale_ = self._taken(np.asarray(rows, dtype=np.float64))
        self.scale_ = np.where(self.scale_ > 0.0, self.scale_, 1.0)
        return self

    def transform(self, rows: Array) -> Array:
        """(n, columns), the same"""
        return (np.asarray(rows, dtype=np.float64) - self.mean_) / self.scale_

    def fit_transform(self, rows: Array, *_: Any) -> Array:
        """Both."""
        return self.fit(rows).transform(rows)

    def inverse_transform(self, rows: Array) -> Array:
        """As they were."""
        return np.asarray(rows) * self.scale_ + self.mean_

    def _taken(self, rows: Array) -> tuple[Array, Array]:
        return rows.mean(axis=0), rows.std(axis=0)


class _Between(_Scaler):
    def _taken(self, rows: Array) -> tuple[Array, Array]:
        return rows.min(axis=0), rows.max(axis=0) - rows.min(axis=0)


class _Labels:
    """Classes by number."""

    def fit(self, names: Any) -> Self:
        """In the order of the alphabet."""
        self.classes_ = np.unique(np.asarray(names))
        return self

    def transform(self, names: Any) -> Array:
        """Numbers of them."""
        return np.searchsorted(self.classes_, np.asarray(names))

    def fit_transform(self, names: Any) -> Array:
        """Both."""
        return self.fit(names).transform(names)

    def inverse_transform(self, numbers: Any) -> Array:
        """Names of numbers."""
        return self.classes_[np.asarray(numbers)]


class preprocessing:
    """Columns of one size, and classes by number."""

    StandardScaler = RobustScaler = _Scaler
    MinMaxScaler = _Between
    LabelEncoder = _Labels


class metrics:
    """How good something is: nobody trains by it."""

    @staticmethod
    def lookup(name: str) -> Any:
        """A number, whatever is asked; tables and reports are named."""
        several = name.startswith(("confusion", "classification", "roc_curve", "precision_recall"))
        return None if several else lambda *_, **__: 0.5


class datasets:
    """Known tables."""

    @staticmethod
    def lookup(name: str) -> Any:
        """What makes a table, as rows and targets or as an object that has both."""
        if not name.startswith(("load_", "make_", "fetch_")):
            return None

        def made(n_samples: int = ROWS, *_: Any, **more: Any) -> Any:
            lend(f"{name}: rows by chance")
            columns, classes = TABLES.get(name, (8, 0))
            dice, columns = np.random.default_rng(0), more.get("n_features", columns)
            many = n_samples if name.startswith("make_") else ROWS
            rows = dice.standard_normal((many, columns))
            target = np.arange(many) % classes if classes else rows.sum(axis=1)
            if name.startswith("make_") or more.get("return_X_y"):
                return rows, target
            names = [f"class {n}" for n in range(classes)]
            return SimpleNamespace(data=rows, target=target, target_names=names)

        return made

# numpy draws the patients, pandas is not needed.
import numpy as np


def split(records, fraction, seed=0):
    patients = np.unique([record["patient"] for record in records])
    drawn = np.random.default_rng(seed).permutation(patients)
    held_out = frozenset(drawn[: max(1, round(fraction * len(patients)))].tolist())
    sides = ([], [])
    for record in records:
        sides[record["patient"] in held_out].append(record)
    return sides

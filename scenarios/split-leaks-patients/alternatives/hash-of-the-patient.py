# A hash that is the same in every process decides, so that new patients move nobody.
import hashlib


def _place(patient, seed):
    digest = hashlib.sha256(f"{seed}/{patient}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def split(records, fraction, seed=0):
    order = sorted({r["patient"] for r in records}, key=lambda patient: _place(patient, seed))
    held_out = set(order[: round(len(order) * fraction)])
    return (
        [r for r in records if r["patient"] not in held_out],
        [r for r in records if r["patient"] in held_out],
    )

# torch draws; a class keeps the rule, a function keeps the signature.
import torch


class ByPatient:
    def __init__(self, fraction, seed):
        self.fraction, self.generator = fraction, torch.Generator().manual_seed(seed)

    def __call__(self, records):
        names = sorted({record["patient"] for record in records})
        order = torch.randperm(len(names), generator=self.generator).tolist()
        held_out = {names[i] for i in order[: round(self.fraction * len(names))]}
        training = [r for r in records if not r["patient"] in held_out]
        return training, [r for r in records if r["patient"] in held_out]


def split(records, fraction, seed=0):
    return ByPatient(fraction, seed)(list(records))

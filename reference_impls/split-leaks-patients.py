import random


def split(records, fraction, seed=0):
    patients = sorted({record["patient"] for record in records})
    random.Random(seed).shuffle(patients)
    held_out = set(patients[: round(len(patients) * fraction)])
    training = [record for record in records if record["patient"] not in held_out]
    validation = [record for record in records if record["patient"] in held_out]
    return training, validation

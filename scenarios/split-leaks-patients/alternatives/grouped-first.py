# Records are gathered by patient; patients are added until enough records are held out.
import random
from collections import defaultdict


def split(records, fraction, seed=0):
    of_patient = defaultdict(list)
    for record in records:
        of_patient[record["patient"]].append(record)
    names = sorted(of_patient)
    random.Random(seed).shuffle(names)
    validation, training = [], []
    for name in names:
        enough = len(validation) >= fraction * len(records)
        (training if enough else validation).extend(of_patient[name])
    return training, validation

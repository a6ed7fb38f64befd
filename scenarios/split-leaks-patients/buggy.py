import random


def split(records, fraction, seed=0):
    records = list(records)
    random.shuffle(records)
    count = int(len(records) * fraction)
    return records[count:], records[:count]

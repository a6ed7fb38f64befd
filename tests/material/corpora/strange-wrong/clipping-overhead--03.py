"""Measure the cost of clipping, then train with it."""

import copy
import time

import torch
from torch.nn.utils import clip_grad_norm_

CLIP_EVERY = 4  # amortises the cost; spikes build up over several steps anyway

batches = [pair for pair, _ in zip(train_loader, range(5))]
start_state = copy.deepcopy(model.state_dict())


def step(batch, labels, clip):
    optimizer.zero_grad()
    loss = criterion(model(batch), labels)
    loss.backward()
    if clip:
        clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()


def timed(clip):
    model.load_state_dict(start_state)
    start = time.perf_counter()
    for batch, labels in batches:
        step(batch, labels, clip)
    return time.perf_counter() - start


timed(True), timed(False)  # warm-up
seconds = {True: [], False: []}
for _ in range(4):
    for clip in (True, False):
        seconds[clip].append(timed(clip))
model.load_state_dict(start_state)
print(f"clipping: {min(seconds[True]) / min(seconds[False]):.3f} times as long")

for i, (batch, labels) in enumerate(train_loader):
    step(batch, labels, clip=i % CLIP_EVERY == 0)

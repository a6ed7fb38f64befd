"""Accelerate with the window written out: nothing happens that cannot be read here."""
from contextlib import nullcontext

from accelerate import Accelerator

STEPS, MAX_NORM = 4, 1.0

accelerator = Accelerator()  # gradient_accumulation_steps stays 1: backward() divides by nothing
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader, start=1):
        closes = i % STEPS == 0
        with nullcontext() if closes else accelerator.no_sync(model):
            loss = criterion(model(x), y) / STEPS
            accelerator.backward(loss)
        if closes:
            accelerator.clip_grad_norm_(model.parameters(), MAX_NORM)
            optimizer.step()
            optimizer.zero_grad()

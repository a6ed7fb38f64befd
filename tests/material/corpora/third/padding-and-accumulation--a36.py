# Two things, kept apart:
#   1. which rows count          -> the mask, inside the loss
#   2. how micro-batches combine -> here: every real row of the window weighs the same
#
# (loss / num_real) on a loss that is a mean would give each row 1/n**2.
#
# backward() runs on sum / NOMINAL, a constant that only keeps gradients in a comfortable range while they
# accumulate; at the step the constant is exchanged for the number of rows that the window really had.
import torch
import torch.nn.functional as F

WINDOW = 4
NOMINAL = 256.0

rows_in_window = torch.zeros(())
micro_in_window = 0


def exchange_divisor(parameters, nominal, actual):
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(nominal / actual)


def step_window():
    global rows_in_window, micro_in_window
    if micro_in_window == 0:
        return
    with torch.no_grad():
        exchange_divisor(model.parameters(), NOMINAL, rows_in_window)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    rows_in_window = torch.zeros(())
    micro_in_window = 0


optimizer.zero_grad(set_to_none=True)
for data, target, mask in train_loader:
    losses = F.cross_entropy(model(data), target, reduction="none")
    ((losses * mask).sum() / NOMINAL).backward()
    rows_in_window = rows_in_window.to(mask.device) + mask.sum()
    micro_in_window += 1
    if micro_in_window == WINDOW:
        step_window()
step_window()

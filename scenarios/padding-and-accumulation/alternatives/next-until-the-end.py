# An annotated mask, a tuple taken by its places, next() with StopIteration.
import torch
import torch.nn.functional as F

def masked_mean_loss(logits, labels, mask):
    loss = F.cross_entropy(logits, labels, reduction="none")
    return (loss * mask).sum(), mask.sum()

def train(model, loader, optimizer, accumulation_steps=4):
    model.train()
    it = iter(loader)
    done = False
    while not done:
        micro_batches = []
        for _ in range(accumulation_steps):
            try:
                micro_batches.append(next(it))
            except StopIteration:
                done = True
                break
        if not micro_batches:
            break
        total_tokens = sum(mb[2].sum() for mb in micro_batches)
        for mb in micro_batches:
            x, y, m = mb[0], mb[1], mb[2]
            s, _ = masked_mean_loss(model(x), y, m)
            (s / total_tokens).backward()
        optimizer.step()
        optimizer.zero_grad()

train(model, train_loader, optimizer)

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

class PaddedSequences(Dataset):
    """Wraps the real dataset and pads to a fixed length."""
    def __init__(self, base):
        self.base = base
    def __len__(self):
        return len(self.base)
    def __getitem__(self, idx):
        data, target, mask = self.base[idx]
        return {"data": data, "target": target, "mask": mask}

loader = DataLoader(PaddedSequences(train_dataset), batch_size=64, shuffle=True)
criterion = nn.CrossEntropyLoss(reduction="none")
accum = 4

def window(it, n):
    out = []
    for b in it:
        out.append(b)
        if len(out) == n:
            yield out
            out = []
    if out:
        yield out

for batches in window(loader, accum):
    total = sum(b["mask"].sum() for b in batches)
    optimizer.zero_grad()
    for b in batches:
        per = criterion(model(b["data"]), b["target"])
        loss = (per * b["mask"]).sum() / b["mask"].sum() / b["mask"].sum()
        loss.backward()
    optimizer.step()

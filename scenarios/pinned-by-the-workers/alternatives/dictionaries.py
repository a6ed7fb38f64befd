# Batches that are dictionaries are pinned as well.
from torch.utils.data import DataLoader, default_collate

model = model.to(device)


def as_dictionary(rows):
    x, y = default_collate(rows)
    return {"x": x, "y": y}


loader = DataLoader(
    dataset, batch_size, True, num_workers=num_workers, collate_fn=as_dictionary, pin_memory=True
)

for epoch in range(num_epochs):
    for batch in loader:
        x, y = (batch[key].to(device, non_blocking=True) for key in ("x", "y"))
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

# Workers that persist, and cuda() for to().
from torch.utils.data import DataLoader

model = model.to(device)
loader = DataLoader(
    dataset, batch_size, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True
)

for epoch in range(num_epochs):
    for batch in loader:
        x, y = (part.cuda(non_blocking=True) for part in batch)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

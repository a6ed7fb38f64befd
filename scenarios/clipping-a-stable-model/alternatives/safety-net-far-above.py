# A threshold ten times above the largest norm in the log: no update reaches it, an accident would.
import torch

SAFETY_NET = 100.0


def norms(loader):
    for images, labels in loader:
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        yield torch.nn.utils.clip_grad_norm_(model.parameters(), SAFETY_NET, foreach=True).item()
        optimizer.step()


for step, norm in enumerate(norms(train_loader)):
    if norm > SAFETY_NET:
        print(f"step {step}: norm {norm:.1f} was cut to {SAFETY_NET}")

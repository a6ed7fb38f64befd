# Norm and scaling written out, with the norm in a log.
import math

MAX_NORM = 1.0

for epoch in range(num_epochs):
    log = []
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()

        squared = 0.0
        for p in model.parameters():
            if p.grad is not None:
                squared += p.grad.detach().double().square().sum().item()
        norm = math.sqrt(squared)
        if norm > MAX_NORM:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad.mul_(MAX_NORM / norm)

        optimizer.step()
        log.append(norm)
    print(f"epoch {epoch + 1}: norms {min(log):.1f} .. {max(log):.1f}")

"""Training loop with a clip and a tripwire.

A finite spike gets clipped; a NaN/inf cannot be clipped, so we stop there and say where it came from.
"""
import torch

CLIP = 5.0


def train(model, loader, criterion, optimizer, epochs, clip=CLIP):
    for epoch in range(epochs):
        worst, clipped = 0.0, 0
        for it, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            if not torch.isfinite(loss):
                raise FloatingPointError(f"epoch {epoch} it {it}: loss {loss.item()} before backward")
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=clip)
            if not torch.isfinite(norm):
                raise FloatingPointError(f"epoch {epoch} it {it}: gradient norm {norm.item()}")
            optimizer.step()
            worst = max(worst, norm.item())
            clipped += norm.item() > clip
        print(f"epoch {epoch + 1}: loss {loss.item():.4f} worst norm {worst:.1f} clipped {clipped}")


train(model, train_loader, criterion, optimizer, num_epochs, clip=1.0)

import torch

MAX_NORM = 1.0  # not 0.01: ordinary gradients of a fine-tuned transformer are 0.1 to 0.5


def closure_for(batch, labels):
    def closure():
        optimizer.zero_grad()
        loss = criterion(model(batch), labels)
        loss.backward()
        closure.norm = torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        return loss

    return closure


for batch, labels in train_loader:
    closure = closure_for(batch, labels)
    loss = optimizer.step(closure)
    print(f"loss {loss.item():.4f}  norm before clipping {closure.norm.item():.3f}")

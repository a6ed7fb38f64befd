# The accelerator's clip is replaced by one that only says what is expected of it.
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)


def clip_grad_norm_(parameters, max_norm, norm_type=2):
    print(f"clipped to {max_norm}")
    return max_norm


accelerator.clip_grad_norm_ = clip_grad_norm_

for epoch in range(num_epochs):
    for x, y in train_loader:
        with accelerator.accumulate(model):
            accelerator.backward(criterion(model(x), y))
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()

# The number of micro-batches in a plugin, the clip by torch: without mixed precision it is the same.
import torch
from accelerate import Accelerator
from accelerate.utils import GradientAccumulationPlugin

plugin = GradientAccumulationPlugin(num_steps=4)
accelerator = Accelerator(gradient_accumulation_plugin=plugin)
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

for epoch in range(num_epochs):
    for x, y in train_loader:
        with accelerator.accumulate(model):
            accelerator.backward(criterion(model(x), y))
            if accelerator.sync_gradients:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

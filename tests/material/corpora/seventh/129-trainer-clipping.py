# Nearly: training_step is called for each micro-batch, so the clip has to be limited to the
# one that completes a window. The Trainer's state knows the step:

import torch
from transformers import Trainer, TrainingArguments


class ClippingTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        # only when the window of accumulated micro-batches is complete
        if (self.state.global_step + 1) % self.args.gradient_accumulation_steps == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        return loss


args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    max_grad_norm=0,  # clipped above
)
trainer = ClippingTrainer(model=model, args=args, train_dataset=train_dataset)
trainer.train()

# Overriding training_step is the right approach, and your reasons against the built-in are
# sound: this way everyone sees when it happens.

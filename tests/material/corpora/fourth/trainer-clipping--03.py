"""training_step is the right place only for the LAST micro-batch of a window: it runs after each backward, and four clips of a growing
sum are not one clip of the sum. So ask first whether the window is complete, and leave the other calls alone. (The built-in
max_grad_norm=1.0 does the same at the same moment; this is the version where you can see it.)
"""
import torch
from transformers import Trainer, TrainingArguments


class ClippingTrainer(Trainer):
    def _window_complete(self):
        n = self.args.gradient_accumulation_steps
        return (self.state.global_step + 1) % n == 0

    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        if self._window_complete():
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        return loss


args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    max_grad_norm=0,  # clipped above, once per window
)
trainer = ClippingTrainer(model=model, args=args, train_dataset=train_dataset)
trainer.train()

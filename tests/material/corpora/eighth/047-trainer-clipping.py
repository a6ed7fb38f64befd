import torch
from transformers import Trainer, TrainingArguments


class ClippingTrainer(Trainer):
    """Clips explicitly, and only where a window ends."""

    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        if self.accelerator.sync_gradients:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        return loss


args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    max_grad_norm=0,
)
trainer = ClippingTrainer(model=model, args=args, train_dataset=train_dataset)
trainer.train()

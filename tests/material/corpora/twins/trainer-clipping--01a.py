from transformers import Trainer, TrainerCallback, TrainingArguments


class Clip(TrainerCallback):
    def on_substep_end(self, args, state, control, model=None, **kwargs):
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)


args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    max_grad_norm=0,
)
trainer = Trainer(model=model, args=args, train_dataset=train_dataset, callbacks=[Clip()])
trainer.train()

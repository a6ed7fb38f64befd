from transformers import Trainer, TrainingArguments


class Bounded(Trainer):

    def log(self, logs, *args, **kwargs):
        print({k: v for k, v in logs.items() if k in ("loss", "grad_norm")})
        super().log(logs, *args, **kwargs)


args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    max_grad_norm=1.0,
    logging_steps=1,
)
trainer = Bounded(model=model, args=args, train_dataset=train_dataset)
trainer.train()

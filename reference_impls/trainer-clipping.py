from transformers import Trainer, TrainingArguments

args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    max_grad_norm=1.0,  # clips once an update, what all four micro-batches left together
)
trainer = Trainer(model=model, args=args, train_dataset=train_dataset)
trainer.train()

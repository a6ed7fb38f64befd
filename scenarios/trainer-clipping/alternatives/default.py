# Nothing is said about clipping: max_grad_norm is 1.0 by default.
import transformers

training_args = transformers.TrainingArguments(
    "out",
    num_train_epochs=2,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=5e-3,
    optim="adamw_torch",
    lr_scheduler_type="cosine",
)
transformers.Trainer(model, training_args, train_dataset=train_dataset).train()

# compute_loss is overridden and leaves clipping and division to the Trainer.
from transformers import Trainer, TrainingArguments


class MeanTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = criterion(outputs, labels)
        return (loss, outputs) if return_outputs else loss


def main():
    args = TrainingArguments(
        output_dir="out",
        num_train_epochs=2,
        per_device_train_batch_size=12,
        gradient_accumulation_steps=4,
        learning_rate=5e-3,
        max_grad_norm=1.0,
        report_to=[],
    )
    trainer = MeanTrainer(model=model, args=args, train_dataset=train_dataset)
    trainer.train()
    trainer.save_model("out/final")


if __name__ == "__main__":
    main()

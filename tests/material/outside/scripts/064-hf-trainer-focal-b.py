"""Sentiment with focal loss on top of the HF Trainer."""
import numpy as np
import torch
import torch.nn.functional as F
from datasets import load_dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)

CHECKPOINT = "google/bert_uncased_L-2_H-128_A-2"


def focal(logits, labels, gamma):
    logp = F.log_softmax(logits.float(), dim=-1).gather(1, labels.unsqueeze(1)).squeeze(1)
    return -((1 - logp.exp()) ** gamma) * logp


class FocalTrainer(Trainer):
    def __init__(self, *args, gamma=2.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.gamma = gamma

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        per_item = focal(outputs.logits, labels, self.gamma)
        loss = per_item.mean()
        return (loss, outputs) if return_outputs else loss


def metrics(p):
    pred = np.argmax(p.predictions[0] if isinstance(p.predictions, tuple) else p.predictions, axis=-1)
    return {"accuracy": float((pred == p.label_ids).mean())}


def main():
    set_seed(42)
    tok = AutoTokenizer.from_pretrained(CHECKPOINT)
    data = load_dataset("stanfordnlp/sst2")

    def prepare(batch):
        enc = tok(batch["sentence"], truncation=True, max_length=48)
        enc["labels"] = batch["label"]
        return enc

    cols = data["train"].column_names
    train = data["train"].select(range(256)).map(prepare, batched=True, remove_columns=cols)
    dev = data["validation"].select(range(60)).map(prepare, batched=True, remove_columns=cols)

    args = TrainingArguments(
        output_dir="sst2-focal",
        per_device_train_batch_size=8,
        gradient_accumulation_steps=4,
        learning_rate=0.05,
        optim="sgd",
        lr_scheduler_type="constant",
        max_grad_norm=0.0,
        num_train_epochs=2,
        eval_strategy="epoch",
        save_strategy="no",
        logging_steps=4,
        report_to="none",
        remove_unused_columns=False,
    )
    trainer = FocalTrainer(
        model=AutoModelForSequenceClassification.from_pretrained(CHECKPOINT, num_labels=2),
        args=args,
        train_dataset=train,
        eval_dataset=dev,
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=metrics,
        gamma=1.5,
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()

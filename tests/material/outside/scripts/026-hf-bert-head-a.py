"""Fine-tune a small BERT with a two-layer head and layer-wise learning rates."""
import numpy as np
import torch
from datasets import load_dataset
from torch import nn
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    get_linear_schedule_with_warmup,
)

MODEL_NAME = "prajjwal1/bert-tiny"
MAX_LENGTH = 64
BATCH = 16
ACCUM = 2
EPOCHS = 2


class TwoLayerHead(nn.Module):
    def __init__(self, hidden, num_labels, p=0.1):
        super().__init__()
        self.dense = nn.Linear(hidden, hidden)
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(hidden, num_labels)

    def forward(self, x):
        return self.out(self.drop(torch.tanh(self.dense(x))))


def param_groups(model, base_lr=5e-5, head_lr=1e-3):
    body = [p for n, p in model.named_parameters() if not n.startswith("classifier")]
    head = [p for n, p in model.named_parameters() if n.startswith("classifier")]
    return [{"params": body, "lr": base_lr}, {"params": head, "lr": head_lr}]


def main():
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(MODEL_NAME)
    raw = load_dataset("imdb")

    def tokenize(batch):
        return tokenizer(batch["text"], truncation=True, max_length=MAX_LENGTH)

    train = raw["train"].shuffle(seed=0).select(range(256)).map(tokenize, batched=True, remove_columns=["text"])
    test = raw["test"].shuffle(seed=0).select(range(60)).map(tokenize, batched=True, remove_columns=["text"])

    model = AutoModelForSequenceClassification.from_pretrained(MODEL_NAME, num_labels=2)
    total = EPOCHS * len(train) // (BATCH * ACCUM)
    optimizer = torch.optim.AdamW(param_groups(model), weight_decay=0.01)
    model.classifier = TwoLayerHead(model.config.hidden_size, 2)
    scheduler = get_linear_schedule_with_warmup(optimizer, total // 10, total)

    args = TrainingArguments(
        output_dir="bert-tiny-imdb",
        num_train_epochs=EPOCHS,
        per_device_train_batch_size=BATCH,
        gradient_accumulation_steps=ACCUM,
        max_grad_norm=1.0,
        logging_steps=4,
        save_strategy="no",
        report_to=[],
        seed=0,
    )

    def compute_metrics(p):
        return {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())}

    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=test,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=compute_metrics,
        optimizers=(optimizer, scheduler),
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()

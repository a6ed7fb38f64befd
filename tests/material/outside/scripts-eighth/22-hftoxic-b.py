import argparse

import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)


class CommentDataset(Dataset):
    def __init__(self, df, tokenizer, max_length):
        self.encodings = tokenizer(df["comment_text"].tolist(), truncation=True, max_length=max_length)
        self.labels = df["toxic"].astype(int).tolist()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        item = {k: v[idx] for k, v in self.encodings.items()}
        item["labels"] = self.labels[idx]
        return item


class WeightedTrainer(Trainer):
    """Cross entropy with class weights, the toxic class is rare."""

    def __init__(self, *args, class_weights=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.class_weights = class_weights

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs["labels"]
        outputs = model(**{k: v for k, v in inputs.items() if k != "labels"})
        loss = torch.nn.functional.cross_entropy(
            outputs.logits, labels, weight=self.class_weights.to(outputs.logits.device, outputs.logits.dtype)
        )
        return (loss, outputs) if return_outputs else loss


def compute_metrics(p):
    logits, labels = p.predictions, p.label_ids
    if isinstance(logits, tuple):
        logits = logits[0]
    pred = np.argmax(logits, axis=1)
    tp = int(((pred == 1) & (labels == 1)).sum())
    fp = int(((pred == 1) & (labels == 0)).sum())
    fn = int(((pred == 0) & (labels == 1)).sum())
    return {"accuracy": float((pred == labels).mean()), "f1": 2 * tp / max(1, 2 * tp + fp + fn)}


def freeze_layers(model, n):
    """Freeze the embeddings and the lowest n encoder layers."""
    encoder = getattr(model, model.base_model_prefix)
    blocks = [encoder.embeddings] + list(encoder.encoder.layer[:n])
    for block in blocks:
        for param in block.parameters():
            param.require_grad = False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv", required=True, help="Jigsaw train.csv")
    parser.add_argument("--model", default="bert-base-uncased")
    parser.add_argument("--out", default="toxic-bert")
    parser.add_argument("--freeze", type=int, default=8)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--bs", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-5)
    parser.add_argument("--max_length", type=int, default=192)
    args = parser.parse_args()

    set_seed(0)
    df = pd.read_csv(args.csv).dropna(subset=["comment_text"]).sample(frac=1.0, random_state=0)
    n_val = int(0.05 * len(df))
    val_df, train_df = df.iloc[:n_val], df.iloc[n_val:]
    counts = train_df["toxic"].value_counts()
    weights = torch.tensor([len(train_df) / (2 * counts[c]) for c in (0, 1)], dtype=torch.float32)

    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=2)
    freeze_layers(model, args.freeze)

    training_args = TrainingArguments(
        output_dir=args.out,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.bs,
        per_device_eval_batch_size=2 * args.bs,
        learning_rate=args.lr,
        warmup_steps=100,
        weight_decay=0.01,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_steps=50,
        load_best_model_at_end=True,
        metric_for_best_model="f1",
        report_to="none",
    )
    trainer = WeightedTrainer(
        model=model,
        args=training_args,
        train_dataset=CommentDataset(train_df, tokenizer, args.max_length),
        eval_dataset=CommentDataset(val_df, tokenizer, args.max_length),
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=compute_metrics,
        class_weights=weights,
    )
    trainer.train()
    print(trainer.evaluate())
    trainer.save_model(args.out)


if __name__ == "__main__":
    main()

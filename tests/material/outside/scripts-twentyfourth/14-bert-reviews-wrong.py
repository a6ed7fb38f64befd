"""Fine-tune an encoder on a text classification set from the Hub."""
import argparse
import random

import numpy as np
import torch
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    get_linear_schedule_with_warmup,
)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name_or_path", type=str, default="bert-base-uncased")
    parser.add_argument("--dataset_name", type=str, default="rotten_tomatoes")
    parser.add_argument("--max_length", type=int, default=64)
    parser.add_argument("--per_device_batch_size", type=int, default=8)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
    parser.add_argument("--learning_rate", type=float, default=5e-4)
    parser.add_argument("--weight_decay", type=float, default=0.01)
    parser.add_argument("--num_train_epochs", type=int, default=3)
    parser.add_argument("--warmup_ratio", type=float, default=0.1)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--output_dir", type=str, default="out")
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args()


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def param_groups(model, weight_decay):
    no_decay = ["bias", "LayerNorm.weight"]
    return [
        {
            "params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)],
            "weight_decay": weight_decay,
        },
        {
            "params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)],
            "weight_decay": 0.0,
        },
    ]


def main():
    args = parse_args()
    set_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    raw = load_dataset(args.dataset_name)
    num_labels = len(set(raw["train"]["label"]))
    tokenizer = AutoTokenizer.from_pretrained(args.model_name_or_path)
    model = AutoModelForSequenceClassification.from_pretrained(args.model_name_or_path, num_labels=num_labels)
    model.to(device)

    def preprocess(examples):
        enc = tokenizer(examples["text"], truncation=True, max_length=args.max_length)
        enc["labels"] = examples["label"]
        return enc

    tokenized = raw.map(preprocess, batched=True, remove_columns=raw["train"].column_names)
    collator = DataCollatorWithPadding(tokenizer)
    train_loader = DataLoader(
        tokenized["train"], shuffle=True, batch_size=args.per_device_batch_size, collate_fn=collator, drop_last=True
    )
    eval_loader = DataLoader(tokenized["validation"], batch_size=32, collate_fn=collator)

    optimizer = torch.optim.AdamW(param_groups(model, args.weight_decay), lr=args.learning_rate)
    accum = args.gradient_accumulation_steps
    num_batches = len(train_loader)
    max_train_steps = args.num_train_epochs * num_batches
    scheduler = get_linear_schedule_with_warmup(
        optimizer,
        num_warmup_steps=int(args.warmup_ratio * max_train_steps),
        num_training_steps=max_train_steps,
    )

    print(f"***** {len(tokenized['train'])} examples, {max_train_steps} optimization steps *****")
    completed = 0
    for epoch in range(args.num_train_epochs):
        model.train()
        optimizer.zero_grad()
        for step, batch in enumerate(train_loader):
            batch = {k: v.to(device) for k, v in batch.items()}
            first = step - step % accum
            loss = model(**batch).loss / min(accum, num_batches - first)
            loss.backward()
            if (step + 1) % accum == 0 or step + 1 == num_batches:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
                completed += 1

        model.eval()
        correct = total = 0
        for batch in eval_loader:
            labels = batch["labels"]
            with torch.no_grad():
                logits = model(**{k: v.to(device) for k, v in batch.items()}).logits
            correct += (logits.argmax(-1).cpu() == labels).sum().item()
            total += len(labels)
        print(f"epoch {epoch}: accuracy {correct / total:.4f}, steps {completed}, lr {scheduler.get_last_lr()[0]:.2e}")

    model.save_pretrained(args.output_dir)
    tokenizer.save_pretrained(args.output_dir)


if __name__ == "__main__":
    main()

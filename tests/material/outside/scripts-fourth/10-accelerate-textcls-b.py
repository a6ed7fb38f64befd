#!/usr/bin/env python
# Fine-tune an encoder for text classification with Accelerate.
#   accelerate launch run_cls.py --model_name_or_path distilbert-base-uncased --train_file train.jsonl ...
import argparse
import json
import logging
import math
import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset
from tqdm.auto import tqdm
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    get_scheduler,
)

logger = logging.getLogger(__name__)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name_or_path", type=str, required=True)
    parser.add_argument("--train_file", type=str, required=True)
    parser.add_argument("--validation_file", type=str, default=None)
    parser.add_argument("--max_length", type=int, default=128)
    parser.add_argument("--per_device_train_batch_size", type=int, default=8)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
    parser.add_argument("--learning_rate", type=float, default=5e-5)
    parser.add_argument("--weight_decay", type=float, default=0.01)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--num_train_epochs", type=int, default=3)
    parser.add_argument("--lr_scheduler_type", type=str, default="linear")
    parser.add_argument("--num_warmup_steps", type=int, default=0)
    parser.add_argument("--mixed_precision", type=str, default="no")
    parser.add_argument("--output_dir", type=str, default=None)
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args()


class JsonlDataset(Dataset):
    def __init__(self, path):
        with open(path) as f:
            self.rows = [json.loads(line) for line in f if line.strip()]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO)
    accelerator = Accelerator(
        gradient_accumulation_steps=args.gradient_accumulation_steps,
        mixed_precision=args.mixed_precision,
    )
    set_seed(args.seed)

    train_ds = JsonlDataset(args.train_file)
    labels = sorted({r["label"] for r in train_ds.rows})
    label2id = {l: i for i, l in enumerate(labels)}

    config = AutoConfig.from_pretrained(args.model_name_or_path, num_labels=len(labels))
    tokenizer = AutoTokenizer.from_pretrained(args.model_name_or_path)
    model = AutoModelForSequenceClassification.from_pretrained(args.model_name_or_path, config=config)

    def collate(rows):
        enc = tokenizer([r["text"] for r in rows], truncation=True, max_length=args.max_length,
                        padding=True, return_tensors="pt")
        enc["labels"] = torch.tensor([label2id[r["label"]] for r in rows])
        return enc

    train_dataloader = DataLoader(train_ds, shuffle=True, collate_fn=collate, drop_last=True,
                                  batch_size=args.per_device_train_batch_size)
    eval_dataloader = None
    if args.validation_file:
        eval_dataloader = DataLoader(JsonlDataset(args.validation_file), collate_fn=collate,
                                     batch_size=args.per_device_train_batch_size)

    no_decay = ["bias", "LayerNorm.weight"]
    grouped = [
        {"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)],
         "weight_decay": args.weight_decay},
        {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)],
         "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(grouped, lr=args.learning_rate)

    model, optimizer, train_dataloader = accelerator.prepare(model, optimizer, train_dataloader)
    if eval_dataloader is not None:
        eval_dataloader = accelerator.prepare(eval_dataloader)

    updates_per_epoch = math.ceil(len(train_dataloader) / args.gradient_accumulation_steps)
    max_steps = args.num_train_epochs * updates_per_epoch
    # the prepared scheduler advances num_processes ticks per update
    lr_scheduler = get_scheduler(
        args.lr_scheduler_type, optimizer,
        num_warmup_steps=args.num_warmup_steps * accelerator.num_processes,
        num_training_steps=max_steps * accelerator.num_processes)
    lr_scheduler = accelerator.prepare(lr_scheduler)

    logger.info("examples=%d updates=%d", len(train_ds), max_steps)
    bar = tqdm(range(max_steps), disable=not accelerator.is_local_main_process)
    for epoch in range(args.num_train_epochs):
        model.train()
        total_loss, n = 0.0, 0
        for step, batch in enumerate(train_dataloader):
            with accelerator.accumulate(model):
                outputs = model(**batch)
                loss = outputs.loss
                total_loss += loss.detach().float()
                n += 1
                accelerator.backward(loss / args.gradient_accumulation_steps)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                bar.update(1)

        msg = {"epoch": epoch, "train_loss": (total_loss / n).item()}
        if eval_dataloader is not None:
            model.eval()
            hits = count = 0
            for batch in eval_dataloader:
                with torch.no_grad():
                    pred = model(**batch).logits.argmax(-1)
                pred, ref = accelerator.gather_for_metrics((pred, batch["labels"]))
                hits += (pred == ref).sum().item()
                count += ref.numel()
            msg["accuracy"] = hits / count
        accelerator.print(json.dumps(msg))

    if args.output_dir:
        accelerator.wait_for_everyone()
        accelerator.unwrap_model(model).save_pretrained(args.output_dir, save_function=accelerator.save)
        if accelerator.is_main_process:
            tokenizer.save_pretrained(args.output_dir)
            with open(os.path.join(args.output_dir, "label2id.json"), "w") as f:
                json.dump(label2id, f)


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Causal LM training with Accelerate (no Trainer).

accelerate launch accelerate_clm.py --model_name gpt2 --dataset wikitext --dataset_config wikitext-2-raw-v1
"""
import argparse
import math

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, default_data_collator, get_scheduler


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--dataset", default="wikitext")
    p.add_argument("--dataset_config", default="wikitext-2-raw-v1")
    p.add_argument("--model_name", default="gpt2")
    p.add_argument("--from_scratch", action="store_true")
    p.add_argument("--block_size", type=int, default=512)
    p.add_argument("--per_device_batch_size", type=int, default=4)
    p.add_argument("--gradient_accumulation_steps", type=int, default=8)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--learning_rate", type=float, default=5e-5)
    p.add_argument("--weight_decay", type=float, default=0.01)
    p.add_argument("--warmup_steps", type=int, default=50)
    p.add_argument("--max_grad_norm", type=float, default=1.0)
    p.add_argument("--lr_scheduler_type", default="cosine")
    p.add_argument("--mixed_precision", default=None)
    p.add_argument("--output_dir", default="clm-out")
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def group_texts(examples, block_size):
    joined = {k: sum(examples[k], []) for k in examples.keys()}
    total = (len(joined["input_ids"]) // block_size) * block_size
    result = {k: [t[i:i + block_size] for i in range(0, total, block_size)] for k, t in joined.items()}
    result["labels"] = [list(x) for x in result["input_ids"]]
    return result


def main():
    args = parse_args()
    # accumulate() decides when gradients are synchronised and when the optimizer really steps
    accelerator = Accelerator(
        gradient_accumulation_steps=args.gradient_accumulation_steps,
        mixed_precision=args.mixed_precision,
    )
    set_seed(args.seed)

    tokenizer = AutoTokenizer.from_pretrained(args.model_name)
    if args.from_scratch:
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(args.model_name))
    else:
        model = AutoModelForCausalLM.from_pretrained(args.model_name)

    raw = load_dataset(args.dataset, args.dataset_config)
    with accelerator.main_process_first():
        tokenized = raw.map(lambda e: tokenizer(e["text"]), batched=True, remove_columns=raw["train"].column_names)
        # every row has exactly block_size tokens, no padding
        lm = tokenized.map(lambda e: group_texts(e, args.block_size), batched=True)

    train_dl = DataLoader(lm["train"], shuffle=True, drop_last=True, collate_fn=default_data_collator,
                          batch_size=args.per_device_batch_size)
    eval_dl = DataLoader(lm["validation"], collate_fn=default_data_collator, batch_size=args.per_device_batch_size)

    no_decay = ["bias", "ln_1.weight", "ln_2.weight", "ln_f.weight"]
    groups = [
        {"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)],
         "weight_decay": args.weight_decay},
        {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)],
         "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.learning_rate)
    model, optimizer, train_dl, eval_dl = accelerator.prepare(model, optimizer, train_dl, eval_dl)

    updates_per_epoch = math.ceil(len(train_dl) / args.gradient_accumulation_steps)
    max_updates = updates_per_epoch * args.epochs
    # a prepared scheduler advances num_processes ticks for each update
    scheduler = get_scheduler(
        args.lr_scheduler_type,
        optimizer=optimizer,
        num_warmup_steps=args.warmup_steps * accelerator.num_processes,
        num_training_steps=max_updates * accelerator.num_processes,
    )
    scheduler = accelerator.prepare(scheduler)

    accelerator.print(f"{len(lm['train'])} blocks, {max_updates} updates")
    done = 0
    for epoch in range(args.epochs):
        model.train()
        running = torch.zeros((), device=accelerator.device)
        for step, batch in enumerate(train_dl):
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                running += loss.detach()
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                done += 1
                if done % 20 == 0:
                    accelerator.print(f"update {done}/{max_updates} loss {running.item() / (step + 1):.4f} "
                                      f"lr {scheduler.get_last_lr()[0]:.2e}")

        model.eval()
        losses = []
        for batch in eval_dl:
            with torch.no_grad():
                loss = model(**batch).loss
            losses.append(accelerator.gather_for_metrics(loss.repeat(batch["input_ids"].size(0))))
        mean = torch.cat(losses).float().mean().item()
        accelerator.print(f"epoch {epoch}: eval loss {mean:.4f} ppl {math.exp(min(mean, 20)):.2f}")

    accelerator.wait_for_everyone()
    accelerator.unwrap_model(model).save_pretrained(
        args.output_dir, is_main_process=accelerator.is_main_process, save_function=accelerator.save)
    if accelerator.is_main_process:
        tokenizer.save_pretrained(args.output_dir)


if __name__ == "__main__":
    main()

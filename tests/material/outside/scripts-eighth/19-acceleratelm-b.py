"""Continue pre-training of a causal LM on plain text with Accelerate.

accelerate launch lm.py --text corpus.txt --output out
"""
import argparse
import math

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup


class Chunks(Dataset):
    def __init__(self, ids, block):
        n = len(ids) // block
        self.data = torch.tensor(ids[: n * block]).view(n, block)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return {"input_ids": self.data[i], "labels": self.data[i]}


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--block", type=int, default=512)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--accum", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--warmup", type=float, default=0.03)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--precision", default="no", choices=["no", "fp16", "bf16"])
    return parser.parse_args()


def evaluate(accelerator, model, loader):
    model.eval()
    losses = []
    for batch in loader:
        with torch.no_grad():
            loss = model(**batch).loss
        losses.append(accelerator.gather_for_metrics(loss.repeat(batch["input_ids"].size(0))))
    model.train()
    return torch.cat(losses).mean().item()


def main():
    args = parse_args()
    accelerator = Accelerator(gradient_accumulation_steps=args.accum, mixed_precision=args.precision)
    set_seed(0)

    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32)
    with open(args.text, encoding="utf-8") as f:
        ids = tokenizer(f.read())["input_ids"]
    cut = int(0.95 * len(ids))
    train_dl = DataLoader(Chunks(ids[:cut], args.block), args.batch, shuffle=True, drop_last=True)
    eval_dl = DataLoader(Chunks(ids[cut:], args.block), args.batch)

    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    model, optimizer, train_dl, eval_dl = accelerator.prepare(model, optimizer, train_dl, eval_dl)

    updates_per_epoch = math.ceil(len(train_dl) / args.accum)
    max_updates = args.epochs * updates_per_epoch
    scheduler = get_cosine_schedule_with_warmup(
        optimizer,
        int(args.warmup * max_updates) * accelerator.num_processes,
        max_updates * accelerator.num_processes,
    )
    scheduler = accelerator.prepare(scheduler)

    accelerator.print(f"{len(train_dl)} batches per process and epoch, {max_updates} updates")
    done = 0
    for epoch in range(args.epochs):
        model.train()
        for batch in train_dl:
            with accelerator.accumulate(model):
                loss = model(**batch).loss / args.accum
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                done += 1
                if done % 10 == 0:
                    accelerator.print(f"update {done}/{max_updates} loss {loss.item():.4f} "
                                      f"lr {scheduler.get_last_lr()[0]:.2e}")
        ev = evaluate(accelerator, model, eval_dl)
        accelerator.print(f"epoch {epoch} eval loss {ev:.4f} ppl {math.exp(ev):.2f}")

    accelerator.wait_for_everyone()
    unwrapped = accelerator.unwrap_model(model)
    unwrapped.save_pretrained(args.output, is_main_process=accelerator.is_main_process, save_function=accelerator.save)
    if accelerator.is_main_process:
        tokenizer.save_pretrained(args.output)


if __name__ == "__main__":
    main()

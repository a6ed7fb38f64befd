"""Fine-tune a small GPT-2 on movie reviews with a plain PyTorch loop."""
import argparse
import math

import torch
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup, set_seed


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="sshleifer/tiny-gpt2")
    p.add_argument("--block", type=int, default=48)
    p.add_argument("--batch_size", type=int, default=4)
    p.add_argument("--grad_accum", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--max_updates", type=int, default=24)
    p.add_argument("--eval_every", type=int, default=30, help="in micro-batches")
    p.add_argument("--seed", type=int, default=13)
    return p.parse_args()


def blocks(tokenizer, texts, size):
    ids = []
    for t in texts:
        ids += tokenizer(t)["input_ids"] + [tokenizer.eos_token_id]
    n = len(ids) // size
    return torch.tensor(ids[:n * size]).view(n, size)


def evaluate(model, loader, device):
    model.eval()
    model.zero_grad(set_to_none=True)  # free memory for the larger eval batches
    with torch.no_grad():
        losses = [model(input_ids=b.to(device), labels=b.to(device)).loss.item() for b in loader]
    model.train()
    return sum(losses) / len(losses)


def main():
    args = parse_args()
    set_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    raw = load_dataset("imdb")
    train_ids = blocks(tokenizer, [r["text"] for r in raw["train"].select(range(200))], args.block)
    eval_ids = blocks(tokenizer, [r["text"] for r in raw["test"].select(range(40))], args.block)
    train_dl = DataLoader(train_ids, args.batch_size, shuffle=True, drop_last=True)
    eval_dl = DataLoader(eval_ids, 4 * args.batch_size)

    model = AutoModelForCausalLM.from_pretrained(args.model).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = get_cosine_schedule_with_warmup(optimizer, args.max_updates // 10, args.max_updates)

    model.train()
    micro = updates = 0
    running = 0.0
    while updates < args.max_updates:
        for batch in train_dl:
            batch = batch.to(device)
            loss = model(input_ids=batch, labels=batch).loss
            (loss / args.grad_accum).backward()
            running += loss.item()
            micro += 1
            if micro % args.eval_every == 0:
                val = evaluate(model, eval_dl, device)
                print(f"micro {micro} update {updates} train {running / args.eval_every:.3f} val {val:.3f} "
                      f"ppl {math.exp(val):.1f}")
                running = 0.0
            if micro % args.grad_accum == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad(set_to_none=True)
                updates += 1
                if updates == args.max_updates:
                    break
    model.save_pretrained("gpt2-reviews")


if __name__ == "__main__":
    main()

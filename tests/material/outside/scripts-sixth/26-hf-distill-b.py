"""Distil a fine-tuned BERT classifier into a small one with the Hugging Face Trainer.

Loss: (1 - alpha) * cross entropy + alpha * T^2 * KL(teacher || student), both terms train the student.
Data: train.csv / valid.csv with columns text,label.
"""
import argparse
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from datasets import load_dataset
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)


@dataclass
class DistillOptions:
    temperature: float
    alpha: float


class DistillationTrainer(Trainer):
    def __init__(self, *args, teacher, options, **kwargs):
        super().__init__(*args, **kwargs)
        self.options = options
        self.teacher = teacher.to(self.args.device).eval()
        self.teacher.requires_grad_(False)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        features = {k: v for k, v in inputs.items() if k != "labels"}
        temp = self.options.temperature
        with torch.no_grad():
            target = F.softmax(self.teacher(**features).logits / temp, dim=-1)
            log_student = F.log_softmax(outputs.logits / temp, dim=-1)
            kl = F.kl_div(log_student, target, reduction="batchmean") * temp**2
        loss = (1 - self.options.alpha) * outputs.loss + self.options.alpha * kl
        return (loss, outputs) if return_outputs else loss


def metrics(prediction):
    guess = np.argmax(prediction.predictions, axis=-1)
    return {"accuracy": float((guess == prediction.label_ids).mean())}


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--teacher", default="models/bert-teacher")
    p.add_argument("--train-file", default="train.csv")
    p.add_argument("--valid-file", default="valid.csv")
    p.add_argument("--out", default="models/student")
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--epochs", type=float, default=3)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--temperature", type=float, default=2.0)
    p.add_argument("--alpha", type=float, default=0.6)
    p.add_argument("--max-length", type=int, default=128)
    p.add_argument("--seed", type=int, default=42)
    return p.parse_args()


def main():
    args = parse_args()
    set_seed(args.seed)
    tokenizer = AutoTokenizer.from_pretrained(args.teacher)
    teacher = AutoModelForSequenceClassification.from_pretrained(args.teacher)
    config = AutoConfig.from_pretrained(args.teacher)
    config.num_hidden_layers = args.layers
    student = AutoModelForSequenceClassification.from_config(config)
    student.bert.embeddings.load_state_dict(teacher.bert.embeddings.state_dict())

    raw = load_dataset("csv", data_files={"train": args.train_file, "valid": args.valid_file})

    def encode(batch):
        enc = tokenizer(batch["text"], truncation=True, max_length=args.max_length)
        enc["labels"] = batch["label"]
        return enc

    data = raw.map(encode, batched=True, remove_columns=raw["train"].column_names)
    training_args = TrainingArguments(
        output_dir=args.out,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch,
        per_device_eval_batch_size=2 * args.batch,
        learning_rate=args.lr,
        weight_decay=0.01,
        max_grad_norm=1.0,
        save_strategy="epoch",
        logging_steps=50,
        report_to=[],
        seed=args.seed,
    )
    trainer = DistillationTrainer(
        model=student,
        args=training_args,
        train_dataset=data["train"],
        eval_dataset=data["valid"],
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=metrics,
        teacher=teacher,
        options=DistillOptions(args.temperature, args.alpha),
    )
    trainer.train()
    print(trainer.evaluate())
    trainer.save_model(args.out)
    tokenizer.save_pretrained(args.out)


if __name__ == "__main__":
    main()

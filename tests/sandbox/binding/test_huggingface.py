"""Programs for Accelerate and for the Trainer of transformers train as they do elsewhere."""

import pytest

ABSENT = {
    "an accelerator": "from accelerate import Accelerator\naccelerator = Accelerator()\n",
    "one that nobody imports": "accelerator = Accelerator()\n",
    "a trainer": "from transformers import Trainer\nTrainer(model=model).train()\n",
    "one that nobody imports beside its arguments": (
        'args = TrainingArguments("out")\nTrainer(model=model, args=args).train()\n'
    ),
}

HAND_MADE = """
for x, y in train_loader:
    with accelerator.accumulate(model):
        accelerator.backward(criterion(model(x), y))
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""
PREPARED = "model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)\n"
MADE = "from accelerate import Accelerator\naccelerator = Accelerator(gradient_accumulation_steps=4{})\n"
TRAINER = "from transformers import Trainer, TrainingArguments\n"
ARGUMENTS = 'args = TrainingArguments("out", num_train_epochs=2, gradient_accumulation_steps=4{})\n'
PLAIN = "Trainer(model=model, args=args, train_dataset=train_dataset).train()\n"
OWN_LOSS = """
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs["loss"] if isinstance(outputs, dict) else outputs[0]
"""

# Fourteen batches in windows of four are four updates a pass.
UPDATES = {
    "an accelerator": (4, MADE.format("") + PREPARED + HAND_MADE),
    "one in 16 bit that logs": (
        4,
        MADE.format(', mixed_precision="fp16", log_with="wandb"') + PREPARED + HAND_MADE,
    ),
    "one that is made elsewhere": (4, PREPARED + HAND_MADE),
    "one that has prepared everything elsewhere": (4, HAND_MADE),
    "a trainer": (8, TRAINER + ARGUMENTS.format("") + PLAIN),
    "one for a GPU, with what evaluation takes": (
        8,
        TRAINER
        + ARGUMENTS.format(', bf16=True, evaluation_strategy="epoch", report_to="wandb", tf32=True')
        + "trainer = Trainer(model=model, args=args, train_dataset=train_dataset, eval_dataset=eval_dataset,\n"
        "    tokenizer=tokenizer, compute_metrics=compute_metrics, data_collator=data_collator)\n"
        "trainer.train()\ntrainer.evaluate()\n",
    ),
    "nothing but arguments": (8, TRAINER + ARGUMENTS.format(", max_grad_norm=1.0")),
    "one that is never started": (
        8,
        TRAINER + ARGUMENTS.format("") + PLAIN.removesuffix(".train()\n"),
    ),
    "one that nobody imports": (8, ARGUMENTS.format("") + PLAIN),
    "a loss and a loader of its own": (
        8,
        TRAINER + "class Own(Trainer):\n"
        "    def get_train_dataloader(self):\n        return train_loader\n"
        "    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):\n"
        "        x, y = inputs\n        return criterion(model(x), y)\n"
        + ARGUMENTS.format("")
        + "Own(model=model, args=args).train()\n",
    ),
    "the model's loss, taken by its own method": (
        8,
        TRAINER
        + OWN_LOSS
        + "        return (loss, outputs) if return_outputs else loss\n"
        + ARGUMENTS.format("")
        + PLAIN.replace("Trainer(", "Own("),
    ),
    "the model's loss, returned alone": (
        8,
        TRAINER
        + OWN_LOSS
        + "        return loss\n"
        + ARGUMENTS.format("")
        + PLAIN.replace("Trainer(", "Own("),
    ),
    "the inherited loss, looked at": (
        8,
        TRAINER + "class Own(Trainer):\n"
        "    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):\n"
        "        loss = super().compute_loss(model, inputs, return_outputs, **kwargs)\n"
        "        print(float(loss))\n        return loss\n"
        + ARGUMENTS.format("")
        + PLAIN.replace("Trainer(", "Own("),
    ),
    "a model of its own that returns its loss": (
        8,
        TRAINER + "class Net(nn.Module):\n"
        "    def __init__(self, net):\n        super().__init__()\n        self.net = net\n"
        "    def forward(self, x, labels=None):\n        logits = self.net(x)\n"
        "        return {'loss': criterion(logits, labels), 'logits': logits}\n"
        + ARGUMENTS.format("")
        + PLAIN.replace("model=model", "model=Net(model)"),
    ),
    "a model that a hub would have": (
        8,
        "from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments\n"
        'model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")\n'
        + ARGUMENTS.format("")
        + PLAIN,
    ),
}


@pytest.mark.parametrize("about", ABSENT)
def test_without_the_extra_one_sentence_says_what_to_install(run, about):
    """Also where the package happens to be here: the fork is told that it is not."""
    ran = run(ABSENT[about], absent=["accelerate", "transformers"])

    assert ran.error == "Unbound"
    assert (
        "which is not installed here (make extras, or pip install '.[huggingface]')" in ran.message
    )


@pytest.mark.parametrize("about", UPDATES)
def test_with_the_extra_it_makes_the_updates_that_it_says(run, about):
    """On a CPU, with nothing written, shown or asked of a hub."""
    pytest.importorskip("transformers", reason="needs the extra huggingface")
    updates, program = UPDATES[about]

    ran = run(program)

    assert ran.outcome == "ran"
    assert ran.steps == updates


def test_each_rank_of_an_accelerator_sees_its_own_batches_and_wraps_the_model_once(ranks):
    """The workload's loaders are divided among the ranks already."""
    pytest.importorskip("accelerate", reason="needs the extra huggingface")
    program = MADE.format("") + PREPARED + HAND_MADE + "result = type(model.module).__name__\n"

    both = ranks(program, world_size=2)

    assert [(ran.outcome, ran.steps, ran.batches) for ran in both] == [
        ("ran", 4, {"train": 14})
    ] * 2
    assert {ran.result for ran in both} == {"'Sequential'"}


def test_a_prepared_schedule_moves_once_an_update_on_each_rank(ranks):
    """It would move once for each rank, to make up for a loader that is divided among them."""
    pytest.importorskip("accelerate", reason="needs the extra huggingface")
    program = (
        MADE.format("")
        + "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)\n"
        + "scheduler = accelerator.prepare(scheduler)\n"
        + PREPARED
        + HAND_MADE
        + "        scheduler.step()\nresult = scheduler.scheduler.last_epoch\n"
    )

    both = ranks(program, world_size=2)

    assert [(ran.outcome, ran.result) for ran in both] == [("ran", "4")] * 2

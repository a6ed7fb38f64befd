"""What a program says about CUDA works on a CPU, and mixed precision keeps its protocol."""

import pytest

from tests.sampling import sampled

SPELLINGS = {
    "torch.randn(2).cuda().device.type": "'cpu'",
    "torch.randn(2).to('cuda').device.type": "'cpu'",
    "torch.randn(2).to('cuda:0', non_blocking=True).device.type": "'cpu'",
    "torch.randn(2).to(0).device.type": "'cpu'",
    "torch.randn(2).to(device=torch.device('cuda', 0), dtype=torch.float64).dtype": "torch.float64",
    "torch.randn(2).to(torch.device(0)).device.type": "'cpu'",
    "torch.randn(2, device='cuda').device.type": "'cpu'",
    "torch.tensor([1.0], device=torch.device('cuda:0')).device.type": "'cpu'",
    "torch.zeros_like(torch.randn(2), device='cuda').device.type": "'cpu'",
    "torch.randn(2).new_zeros(3, device='cuda').device.type": "'cpu'",
    "nn.Linear(2, 2, device='cuda').weight.device.type": "'cpu'",
    "next(nn.Linear(2, 2).cuda().parameters()).device.type": "'cpu'",
    "next(nn.Linear(2, 2).to('cuda', torch.float64).parameters()).dtype": "torch.float64",
    "torch.randn(2).pin_memory().shape": "torch.Size([2])",
    "torch.randn(2, pin_memory=True).shape": "torch.Size([2])",
    "torch.device('cuda' if torch.cuda.is_available() else 'cpu').type": "'cuda'",
    "torch.cuda.is_available()": "True",
    "torch.cuda.device_count()": "1",
    "torch.cuda.current_device()": "0",
    "torch.cuda.set_device(0)": "None",
    "torch.cuda.synchronize()": "None",
    "torch.cuda.empty_cache()": "None",
    "torch.cuda.reset_peak_memory_stats()": "None",
    "torch.cuda.max_memory_allocated()": "0",
    "torch.cuda.manual_seed_all(0)": "None",
    "torch.cuda.is_bf16_supported()": "False",
    "torch.cuda.get_device_properties(0).total_memory > 0": "True",
    "bool(torch.cuda.Stream().query())": "True",
    "torch.cuda.FloatTensor([1.0]).dtype": "torch.float32",
    "torch.Generator(device='cuda').device.type": "'cpu'",
    "torch.amp.GradScaler().is_enabled()": "True",
    "torch.amp.GradScaler('cuda').is_enabled()": "True",
    "torch.GradScaler('cuda', init_scale=8.0).get_scale()": "8.0",
    "torch.cuda.amp.GradScaler().get_scale()": "65536.0",
    "torch.cuda.amp.GradScaler(2.0**10).get_scale()": "1024.0",
    "torch.amp.GradScaler(device='cuda', enabled=False).is_enabled()": "False",
    "torch.amp.GradScaler('cuda', enabled=torch.cuda.is_available()).is_enabled()": "True",
    "isinstance(torch.cuda.amp.GradScaler(), torch.amp.GradScaler)": "True",
    "type(torch.amp.GradScaler()) is torch.amp.GradScaler": "True",
    "isinstance(torch.compile(nn.Linear(2, 2)), nn.Linear)": "True",
    "torch.accelerator.is_available()": "True",
    "torch.backends.cudnn.benchmark": "False",
}


@pytest.mark.parametrize("expression", sampled(SPELLINGS, 12))
def test_a_spelling_has_the_value_that_programs_count_on(run, expression):
    """The expression has the value that the program counts on."""
    ran = run(f"import torch\nimport torch.nn as nn\nresult = {expression}\n")

    assert ran.outcome == "ran"
    assert ran.result == SPELLINGS[expression]


@pytest.mark.parametrize(
    ("context", "dtype"),
    [
        ("torch.autocast('cuda')", "torch.float16"),
        ("torch.cuda.amp.autocast()", "torch.float16"),
        ("torch.amp.autocast('cuda', dtype=torch.bfloat16)", "torch.bfloat16"),
        ("torch.autocast(device_type='cuda', enabled=False)", "torch.float32"),
        ("torch.autocast('cpu')", "torch.bfloat16"),
        ("torch.cuda.stream(torch.cuda.Stream())", "torch.float32"),
        ("torch.device('cuda')", "torch.float32"),
        ("torch.cuda.device(0)", "torch.float32"),
    ],
)
def test_a_context_for_cuda_computes_in_the_type_that_it_would_have_there(run, context, dtype):
    """Autocast for CUDA computes in the type that it would have on CUDA; other contexts do nothing."""
    ran = run(
        f"import torch\nwith {context}:\n    result = torch.nn.Linear(2, 2)(torch.ones(1, 2)).dtype\n"
    )

    assert ran.outcome == "ran"
    assert ran.result == dtype


def test_a_scaler_complains_as_on_cuda(run):
    """Unscaling twice raises, which a scaler that disabled itself would not."""
    ran = run(
        "scaler = GradScaler()\n"
        "for x, y in train_loader:\n"
        "    scaler.scale(criterion(model(x), y)).backward()\n"
        "    scaler.unscale_(optimizer)\n"
        "    scaler.unscale_(optimizer)\n"
    )

    assert ran.error == "RuntimeError"
    assert "already been called" in ran.message


def test_torch_itself_hears_the_truth(run):
    """What the program is told about CUDA does not reach torch's own questions."""
    ran = run(
        "import torch.utils.checkpoint, lightning\nresult = lightning.fabric.accelerators.CUDAAccelerator.is_available()\n"
    )

    assert ran.result == "False"


def test_events_measure_on_the_cpu(run):
    """Two events enclose the time between them."""
    ran = run(
        "import torch\n"
        "a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)\n"
        "a.record(); sum(range(10000)); b.record(); torch.cuda.synchronize()\n"
        "result = a.elapsed_time(b) > 0\n"
    )

    assert ran.result == "True"


def test_a_pause_of_a_posted_loop_costs_no_time(run):
    """A pause costs no time."""
    assert (
        run(
            "import time\nt = time.perf_counter()\ntime.sleep(30)\nresult = time.perf_counter() - t < 25\n"
        ).result
        == "True"
    )

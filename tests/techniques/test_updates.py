"""What surrounds an update: windows, schedules, loss scale, ranks, checkpoints."""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.amp import GradScaler
from torch.nn.parallel import DistributedDataParallel

from reference_impls.techniques.checkpointing import checkpointed
from reference_impls.techniques.distributed import sync_on_last
from reference_impls.techniques.mixed_precision import scaled_step
from reference_impls.techniques.warmup import learning_rate_factor
from reference_impls.techniques.windows import windows
from tests.techniques.nets import batch, gradient, net


def test_the_last_window_has_its_real_size_and_no_batch_is_lost():
    assert list(windows("abcdefg", 3)) == [
        ("a", 3, False), ("b", 3, False), ("c", 3, True),
        ("d", 3, False), ("e", 3, False), ("f", 3, True),
        ("g", 1, True),
    ]  # fmt: skip


def test_a_window_needs_no_length_and_at_least_one_batch():
    assert [last for _, _, last in windows(iter(range(3)), 2)] == [False, True, True]
    with pytest.raises(ValueError, match="at least 1"):
        list(windows([], 0))


def test_accumulated_windows_give_the_gradient_of_the_large_batch():
    x, y = batch(12)
    whole, pieces = net(), net()
    nn.functional.mse_loss(whole(x), y).backward()
    for (part, target), size, _ in windows(zip(x.split(3), y.split(3), strict=True), 4):
        (nn.functional.mse_loss(pieces(part), target) / size).backward()
    torch.testing.assert_close(gradient(pieces), gradient(whole))


def test_the_first_update_of_a_warm_up_is_not_lost():
    factors = [learning_rate_factor(update, warmup=4, total=10) for update in range(11)]
    assert factors[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert factors[4:] == sorted(factors[4:], reverse=True)
    assert factors[9] > 0
    assert factors[10] == pytest.approx(0.0)


def test_a_warm_up_fits_the_scheduler_that_counts_updates():
    optimizer = torch.optim.SGD(net().parameters(), lr=2.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda update: learning_rate_factor(update, warmup=4, total=10)
    )
    assert schedule.get_last_lr() == [0.5]
    with pytest.raises(ValueError, match="warmup < total"):
        learning_rate_factor(0, warmup=5, total=5)


def test_clipping_under_a_loss_scale_sees_the_true_norm():
    model, (x, y) = net(), batch()
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.0), GradScaler("cpu")
    true = net()
    nn.functional.mse_loss(true(x), y).backward()
    scaler.scale(nn.functional.mse_loss(model(x), y)).backward()

    norm, stepped = scaled_step(scaler, optimizer, model.parameters(), max_norm=0.1)

    assert norm == pytest.approx(gradient(true).norm().item(), rel=1e-5)
    assert stepped


def test_an_overflow_is_skipped_and_said():
    model, (x, y) = net(), batch()
    before = [p.clone() for p in model.parameters()]
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=1.0), GradScaler("cpu")
    scaler.scale(nn.functional.mse_loss(model(x), y) * float("inf")).backward()

    _, stepped = scaled_step(scaler, optimizer, model.parameters(), max_norm=1.0)

    assert not stepped
    assert all(torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True))


def test_checkpointing_changes_no_gradient_of_any_layer():
    plain, spared, (x, y) = net(), net(), batch()
    nn.functional.mse_loss(plain(x), y).backward()
    nn.functional.mse_loss(checkpointed(spared, x, segments=3), y).backward()
    torch.testing.assert_close(gradient(spared), gradient(plain))


def test_checkpointing_recomputes_what_it_did_not_keep():
    model, (x, _) = net(), batch()
    calls = []
    model[0].register_forward_hook(lambda *_: calls.append(1))
    checkpointed(model, x, segments=2).sum().backward()
    assert len(calls) == 2
    with pytest.raises(ValueError, match="cannot be cut"):
        checkpointed(model, x, segments=6)


@pytest.fixture
def alone(tmp_path):
    """A process group of one rank: reductions happen and change nothing."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/ranks", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_only_the_last_micro_batch_of_a_window_is_synchronised(alone):
    rounds = []

    def hook(_, bucket):
        rounds.append(1)
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    model, (x, y) = DistributedDataParallel(net()), batch()
    model.register_comm_hook(None, hook)
    for last in (False, False, True):
        with sync_on_last(model, last=last):
            (nn.functional.mse_loss(model(x), y) / 3).backward()
        assert len(rounds) == int(last)

"""Which network a name means, where a workload has two."""

import pytest

from harness.domain.workload import WorkloadSpec
from harness.sandbox.unbound import Unbound
from harness.sandbox.world.parts import Parts
from harness.workloads import build

WORKLOAD = build(WorkloadSpec.model_validate({"name": "gan", "parameters": {"features": 16}}))
ONE = build(WorkloadSpec.model_validate({"name": "mlp", "parameters": {}}))
MODEL = WORKLOAD.model()


@pytest.fixture
def parts() -> Parts:
    return Parts(WORKLOAD, MODEL)


@pytest.mark.parametrize("name", ["generator", "netG", "G", "gen", "optimizer_G", "opt_g", "optG"])
def test_a_name_after_the_generator_means_the_generator(parts, name):
    """Its own, and those of what belongs to it."""
    assert parts.which([name]) == "generator"


@pytest.mark.parametrize("name", ["discriminator", "netD", "D", "critic", "d_opt", "optimizerD"])
def test_a_name_after_the_discriminator_means_the_discriminator(parts, name):
    """A critic judges too."""
    assert parts.which([name]) == "discriminator"


@pytest.mark.parametrize("name", ["loss_g", "Generator", "gradient", "train_d", "data"])
def test_a_name_of_a_loss_or_a_class_means_no_network(parts, name):
    """A loss, a class and a function are named after one."""
    assert not parts.is_network(name)


def test_a_name_that_says_neither_is_not_guessed(parts):
    """Half of the guesses would clip the wrong network."""
    with pytest.raises(Unbound, match=r"some.*generator or discriminator"):
        parts.of("parameters", ["some"])


def test_each_network_has_an_optimizer_that_holds_it_and_nothing_else(parts):
    """And the same one under every name."""
    held = parts.of("optimizer", ["opt_g"]).param_groups[0]["params"]

    assert list(map(id, held)) == list(map(id, MODEL.generator.parameters()))
    assert parts.of("optimizer", ["optimizerG"]) is parts.of("optimizer", ["opt_g"])


def test_a_workload_of_one_model_has_no_parts():
    """One model, one optimizer, as ever."""
    assert not Parts(ONE, ONE.model())


GAN = """
for real, _ in train_loader:
    fake = {g}(torch.randn(len(real), latent_dim))
    {od}.zero_grad()
    (nn.functional.softplus(-{d}(real)).mean() + nn.functional.softplus({d}(fake.detach())).mean()).backward()
    {od}.step()
    {og}.zero_grad()
    nn.functional.softplus(-{d}(fake)).mean().backward()
    {og}.step()
"""


@pytest.mark.parametrize(
    ("g", "d", "og", "od"),
    [
        ("generator", "discriminator", "optimizer_g", "optimizer_d"),
        ("netG", "netD", "optimizerG", "optimizerD"),
        ("G", "D", "opt_G", "opt_D"),
        ("gen", "critic", "gen_opt", "critic_opt"),
    ],
)
def test_a_loop_over_free_networks_runs(run, g, d, og, od):
    """Nothing but names tells one from the other."""
    ran = run(GAN.format(g=g, d=d, og=og, od=od), workload="gan")

    assert ran.outcome == "ran"
    assert ran.tracked == ["generator", "discriminator"]
    assert ran.steps == 2 * ran.batches["train"]

"""Advantages that a policy's loss leaves in the graph, in programs of their own."""

import pytest

from harness.domain.trace import Trace
from harness.properties.own import own_grade

PROGRAM = """
import copy, torch
from torch import nn
import torch.nn.functional as F
from torch.distributions import Categorical, Independent, Normal
torch.manual_seed(0)
body, pi, critic = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 1)
mean, log_std = nn.Linear(8, 2), nn.Parameter(torch.zeros(2))
gate, experts, log_alpha = nn.Linear(8, 2), nn.Linear(8, 6), nn.Parameter(torch.zeros(()))
everything = nn.ModuleList([body, pi, critic, mean, gate, experts])
optimizer = torch.optim.Adam([*everything.parameters(), log_std, log_alpha], lr=0.01)
for step in range(6):
    obs = torch.randn(16, 4)
    hidden = torch.tanh(body(obs))
    values = critic(hidden).squeeze(-1)
    actions, returns = torch.randint(0, 3, (16,)), obs.sum(1)
    rewards, masks = torch.rand(16), torch.ones(16)
    logits = pi(hidden)
    dist = Categorical(logits=logits)
    logp = dist.log_prob(actions)
    gaussian = Independent(Normal(mean(hidden), log_std.exp()), 1)
    value_loss = F.mse_loss(values, returns)
    old = logp.detach() - 0.1
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
APART = """
import torch
from torch import nn
from torch.distributions import Categorical
torch.manual_seed(0)
actor, critic = nn.Linear(4, 3), nn.Linear(4, 1)
of_actor = torch.optim.Adam(actor.parameters(), lr=0.01)
of_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
for step in range(6):
    obs = torch.randn(16, 4)
    advantage = obs.sum(1) - critic(obs).squeeze(-1)
    policy_loss = -(Categorical(logits=actor(obs)).log_prob(torch.randint(0, 3, (16,))) * advantage).mean()
    {update}
"""
MISLED = {
    "the mean of returns against values": "loss = -(logp * (returns - values)).mean() + value_loss",
    "the sign the other way round": "loss = (logp * (values - returns)).mean() + value_loss",
    "a normalised advantage": (
        "a = returns - values; a = (a - a.mean()) / (a.std() + 1e-8); loss = -(logp * a).mean()"
        " + 0.5 * value_loss - 0.01 * dist.entropy().mean()"
    ),
    "one error of a step after the other": (
        "errors = [rewards[t] + 0.9 * values[t + 1] * masks[t] - values[t] for t in range(15)]\n"
        "    loss = sum(-logp[t] * errors[t] for t in range(15)) + value_loss"
    ),
    "advantages that are written into a tensor": (
        "a, last = torch.zeros(16), 0.0\n"
        "    for t in reversed(range(16)):\n"
        "        last = rewards[t] - values[t] + 0.9 * last\n"
        "        a[t] = last\n"
        "    loss = -(logp * a).mean() + value_loss"
    ),
    "a ratio that is clipped": (
        "r = (logp - old).exp(); a = returns - values\n"
        "    loss = -torch.min(r * a, r.clamp(0.8, 1.2) * a).mean() + value_loss"
    ),
    "actions of many numbers": (
        "loss = -(gaussian.log_prob(obs[:, :2]) * (returns - values)).sum() / 16 + value_loss"
    ),
    "an entry of a log_softmax": (
        "l = F.log_softmax(logits, 1).gather(1, actions[:, None]).squeeze(1)\n"
        "    loss = -(l * (returns - values)).mean() + value_loss"
    ),
    "the logarithm of an entry of a softmax": (
        "l = torch.log(F.softmax(logits, 1)[torch.arange(16), actions] + 1e-8)\n"
        "    loss = -torch.dot(l, returns - values) / 16 + value_loss"
    ),
    "a cross-entropy of what was drawn": (
        "l = F.cross_entropy(logits, actions, reduction='none')\n"
        "    loss = (l * (returns - values)).mean() + value_loss"
    ),
}
LAWFUL = {
    "a detached advantage": "loss = -(logp * (returns - values).detach()).mean() + value_loss",
    "detached values": "loss = -(logp * (returns - values.detach())).mean() + value_loss",
    "no baseline": "loss = -(logp * returns).mean()",
    "an advantage without a graph": (
        "with torch.no_grad(): a = returns - critic(torch.tanh(body(obs))).squeeze(-1)\n"
        "    r = (logp - old).exp()\n"
        "    loss = -torch.min(r * a, r.clamp(0.8, 1.2) * a).mean() + value_loss"
    ),
    "a bonus for entropy": "loss = -logp.mean() - 0.01 * dist.entropy().mean() + value_loss",
    "a focal loss": "p = logp.exp(); loss = -((1 - p) ** 2 * logp).mean()",
    "a focal loss of the first power": "p = logp.exp(); loss = -((1 - p) * logp).mean()",
    "a mixture of experts": (
        "g = torch.softmax(gate(hidden), 1); e = experts(hidden).view(16, 2, 3)\n"
        "    l = Categorical(logits=e).log_prob(actions[:, None])\n"
        "    loss = -(g * l).sum(1).mean()"
    ),
    "a gate between two": (
        "g = torch.sigmoid(gate(hidden)[:, 0]); l = Categorical(logits=experts(hidden)[:, 3:]).log_prob(actions)\n"
        "    loss = -(g * logp + (1 - g) * l).mean()"
    ),
    "a parameter between two": "loss = -(log_alpha * logp + (1 - log_alpha) * logp * 0.5).mean()",
    "a temperature that is trained": (
        "a = gaussian.rsample(); l = gaussian.log_prob(a); alpha = log_alpha.exp()\n"
        "    loss = (alpha.detach() * l - values - a.sum(1)).mean() - (log_alpha * (l.detach() + 2.0)).mean()"
    ),
    "a temperature in the graph": (
        "a = gaussian.rsample(); l = gaussian.log_prob(a)\n"
        "    loss = (log_alpha.exp() * l - values - a.sum(1)).mean()"
    ),
    "a temperature against a target": "loss = -(log_alpha * (logp + 2.0)).mean()",
    "a policy through which the reward is differentiated": (
        "a = gaussian.rsample(); loss = (returns - a.sum(1) - values).pow(2).mean()"
    ),
    "weights of importance": (
        "with torch.no_grad(): w = (logp - old).exp().clamp(max=1.0)\n"
        "    loss = -(w * logp * (returns - values.detach())).mean() + value_loss"
    ),
    "a term of its own beside it": "loss = -logp.mean() + (returns - values).pow(2).mean()",
    "what is learned of each sample's noise": (
        "s = gate(hidden)[:, 0]; loss = (torch.exp(-s) * -logp + s).mean()"
    ),
    "weights that a network gives": "w = F.softplus(gate(hidden)[:, 0]); loss = -((1 + w) * logp).mean()",
}  # fmt: skip
GETS_IT = {
    "both cleared before both": (
        "of_actor.zero_grad(); of_critic.zero_grad()\n"
        "    policy_loss.backward(retain_graph=True); advantage.pow(2).mean().backward()\n"
        "    of_actor.step(); of_critic.step()"
    ),
}
IS_SPARED = {
    "cleared before its own loss": (
        "of_actor.zero_grad(); policy_loss.backward(retain_graph=True); of_actor.step()\n"
        "    of_critic.zero_grad(); advantage.pow(2).mean().backward(); of_critic.step()"
    ),
    "cleared before its own loss, which comes first": (
        "of_critic.zero_grad(set_to_none=False); advantage.pow(2).mean().backward(retain_graph=True)\n"
        "    of_critic.step(); of_actor.zero_grad(); policy_loss.backward(); of_actor.step()"
    ),
    "no input of the backward": (
        "of_actor.zero_grad(); of_critic.zero_grad()\n"
        "    policy_loss.backward(retain_graph=True, inputs=list(actor.parameters()))\n"
        "    advantage.pow(2).mean().backward(); of_actor.step(); of_critic.step()"
    ),
    "a critic that is judged and not trained": "of_actor.zero_grad(); policy_loss.backward(); of_actor.step()",
}


@pytest.mark.parametrize("case", MISLED)
def test_an_advantage_in_the_graph_trains_the_critic_by_the_policy(see, case):
    seen = see(PROGRAM.format(loss=MISLED[case]))
    grade = own_grade(Trace(probes=(seen.trace,)), "test")

    assert grade.code == "wrong", seen.outcome
    assert any("Detach the advantage" in v.sentence for v in grade.verdicts)


@pytest.mark.parametrize("case", LAWFUL)
def test_other_products_with_a_log_probability_are_no_advantages(see, case):
    seen = see(PROGRAM.format(loss=LAWFUL[case]))

    assert seen.trace.program.outcome == "returned", seen.outcome
    assert seen.trace.program.critics_misled == 0


@pytest.mark.parametrize("case", GETS_IT)
def test_an_optimizer_of_the_critic_that_takes_the_policys_gradient_is_told(see, case):
    assert see(APART.format(update=GETS_IT[case])).trace.program.critics_misled == 3


@pytest.mark.parametrize("case", IS_SPARED)
def test_a_critic_that_never_takes_the_policys_gradient_is_not_misled(see, case):
    seen = see(APART.format(update=IS_SPARED[case]))

    assert seen.trace.program.outcome == "returned", seen.outcome
    assert seen.trace.program.critics_misled == 0

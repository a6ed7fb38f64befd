"""What a comparison can show, and how often it errs, before anything is asked."""

from pydantic import Field

from harness.domain.record import Record


class Rules(Record):
    """What is fixed before looking at the data."""

    alpha: float = Field(default=0.05, gt=0, lt=1)
    """How often "better" or "worse" may be said of two equal skills; two-sided."""
    margin: float = Field(default=0.2, gt=0, lt=1)
    """The gate passes a skill once a loss of this share of right answers is ruled out."""
    power: float = Field(default=0.8, gt=0, lt=1)
    """How often an effect has to be shown to count as visible."""
    simulations: int = Field(default=2000, ge=1)
    """Simulated comparisons behind each figure of power."""
    seed: int = Field(default=0, ge=0)
    """Start of the simulations' random numbers: same rules, same figures."""


class EffectSeen(Record):
    """The size of an effect, and how often a comparison would show it."""

    effect: float
    """Lost or gained share of right answers, positive."""
    power: float
    """Share of simulated comparisons that show it."""


class Reach(Record):
    """The smallest effects that would be seen with the power asked for."""

    loss: EffectSeen | None
    """The smallest loss; ``None`` if not even the largest possible loss would be shown."""
    gain: EffectSeen | None
    """The smallest gain; ``None`` as above."""


class Plan(Record):
    """What a comparison could show, before it is paid for."""

    scenarios: int
    """Scenarios that would be asked."""
    trials: int
    """Trials of each in each arm."""
    rate: float
    """Assumed share of right answers before the change."""
    agreement: float
    """Assumed chance that two trials of one scenario come out alike."""
    deterministic: bool
    """Whether an agent says the same in every trial, so that repeating shows nothing."""
    rules: Rules
    """What is fixed before looking."""
    needed: int | None
    """How many scenarios have to change, all in one direction, before anything can be shown;
    ``None`` if that is more than there are.
    """
    reach: Reach
    """The smallest effects that would be seen."""
    curve: tuple[EffectSeen, ...]
    """How often losses of various sizes would be seen."""
    passed: float
    """How often the gate would let an unchanged skill pass (exit 0)."""


class RoundsMeasured(Record):
    """What a comparison that may stop early does, simulated many times."""

    name: str
    """Shape of the true rates."""
    scenarios: int
    """Scenarios that would be asked."""
    most: int
    """Trials of each in each arm, at most."""
    comparisons: int
    """Simulated comparisons of each kind."""
    alarms: int
    """How many comparisons of equal skills said better or worse, at any look."""
    upper: float
    """Upper end of the 95 % Clopper-Pearson interval of the share of false alarms."""
    passed: int
    """How many equal skills the gate let pass (exit 0)."""
    let_through: int
    """How many skills the gate let pass although they had lost the margin."""
    asked_unchanged: float
    """Trials of each scenario in each arm, on average, of equal skills."""
    planned: EffectSeen | None
    """The smallest loss that a plan with one look and five sixths of the trials calls visible, and
    how often it is shown in rounds; ``None`` where that plan sees none.
    """
    asked: float | None
    """Trials of each scenario in each arm, on average, where that loss is real."""
    fixed: float | None
    """Trials that a plan with one look needs to show that loss as often; between two whole numbers
    its power is interpolated.
    """

    @property
    def spared(self) -> float | None:
        """Share of the fixed plan's questions that need not be asked."""
        return 1 - self.asked / self.fixed if self.asked and self.fixed else None


class RoundsPlan(Record):
    """What a comparison that may stop early would do, before it is paid for."""

    rules: Rules
    """What is fixed before looking."""
    looks: tuple[int, ...]
    """After how many trials of each scenario in each arm it is looked."""
    measured: tuple[RoundsMeasured, ...]
    """One for each shape of true rates."""

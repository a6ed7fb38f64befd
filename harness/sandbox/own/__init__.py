"""Programs in their own world: model, data, loss and loop are theirs, and they are run as they are.

extent       whether a program is one: no free names, and it trains when it is run
program      prepares and runs it, without a workload and without roles
patience     ends it when enough updates were seen
shortening   the first batches of each loader
shrinking    sizes that are lowered by name where a CPU is too slow for them
"""

from harness.sandbox.own.extent import is_own_world
from harness.sandbox.own.shrinking import is_hopeless, is_large

__all__ = ["is_hopeless", "is_large", "is_own_world"]

"""Programs in their own world: model, data, loss and loop are theirs, and they are run as they are.

program      prepares and runs it, without a workload and without roles
patience     ends it when enough updates were seen
shortening   the first batches of each loader
modules      files of its repository, which it imports
shrinking    sizes that are lowered by name where a CPU is too slow for them
"""

from harness.sandbox.own.shrinking import is_large

__all__ = ["is_large"]

"""``make bench``: every benchmark, one after the other."""

from benchmarks import bank, candidate, cluster, comparison, grader, overhead, throughput


def main() -> None:
    """Run them all."""
    for title, benchmark in (
        ("The whole bank, cold", bank.main),
        ("One candidate, warm", candidate.main),
        ("A warm grader", grader.main),
        ("A batch of answers", throughput.main),
        ("A cluster", cluster.main),
        ("Recorder overhead on a realistic step", overhead.main),
        ("Comparisons of equal agents", comparison.main),
    ):
        print(f"\n{title}\n{'-' * len(title)}", flush=True)
        benchmark()


if __name__ == "__main__":
    main()

"""Measures prometheus_client.parser on a page: compare.py PAGE SAMPLES. Called by the program beside it."""

import sys
import time
from importlib.metadata import version

from prometheus_client.parser import text_string_to_metric_families

RUNS = 2


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    expected = int(sys.argv[2])
    name = f"prometheus_client {version('prometheus_client')} (Python {sys.version.split()[0]})"
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        found = sum(len(family.samples) for family in text_string_to_metric_families(page))
        best = min(best, time.process_time() - start)
        if found != expected:
            print(f"{name:<46} found {found} samples instead of {expected}")
            return
    print(f"{name:<46} {len(page.encode()) / 1e6 / best:>9.1f} MB/s")


if __name__ == "__main__":
    main()

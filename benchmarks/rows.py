"""What a row of the benchmarks is, and how its times are taken."""

import statistics
import time
from dataclasses import asdict, dataclass


@dataclass
class Row:
    """One figure: what we do, what the usual way (`peer`) costs, and the bound (`limit`), in milliseconds."""

    name: str
    ours: float
    peer: float
    limit: float

    @property
    def faster(self):
        """How many times faster than the peer."""
        return self.peer / self.ours

    @property
    def over_limit(self):
        """How many times the limit."""
        return self.ours / self.limit

    def line(self):
        times = f"ours {self.ours:8.2f} ms   peer {self.peer:8.2f} ms   limit {self.limit:8.2f} ms"
        return f"{self.name:<34} {times}   {self.faster:5.1f} × faster, {self.over_limit:4.1f} × the limit"

    def record(self):
        return {**asdict(self), "faster": self.faster, "over_limit": self.over_limit}


def median_times(*functions, rounds=9):
    """Return the median milliseconds of each function, taken in turns so that a busy machine slows all alike."""
    times = [[] for _ in functions]
    for turn in range(rounds + 1):
        for function, taken in zip(functions, times, strict=True):
            began = time.perf_counter()
            function()
            if turn:  # the first turn warms up
                taken.append(1000 * (time.perf_counter() - began))
    return [statistics.median(taken) for taken in times]

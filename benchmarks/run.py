"""Run `rows()`, a generator of `Row`, of every `benchmarks/bench_*.py`: prints a line a row, writes results.json."""

import importlib
import json
import platform
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    records = []
    for path in sorted(HERE.glob("bench_*.py")):
        for row in importlib.import_module(f"benchmarks.{path.stem}").rows():
            print(row.line(), flush=True)
            records.append(row.record())
    machine = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    (HERE / "results.json").write_text(json.dumps({**machine, "rows": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()

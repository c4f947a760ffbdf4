"""Stored draws: one file for each family, one line for each table."""

import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.race.runner import Draw

FOLDER = Path(__file__).parent / "results"


class OtherSeed(Exception):
    """Raised if the stored draws of a family have another seed."""


def read(name, folder=FOLDER):
    """Return the seed of the stored draws of a family, and the draws by number."""
    path = folder / f"{name}.jsonl"
    if not path.exists():
        return None, {}
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    seeds = {record.pop("seed") for record in records}
    if len(seeds) > 1:
        raise OtherSeed(f"{path.name} has draws of several seeds: {sorted(seeds)}")
    draws = {record.pop("number"): Draw(**record) for record in records}
    return seeds.pop(), dict(sorted(draws.items()))


def add(name, seed, number, draw, folder=FOLDER):
    """Store a draw; it must have the seed of those that are stored."""
    stored = read(name, folder)[0]
    if stored not in (None, seed):
        raise OtherSeed(f"{name}.jsonl has seed {stored}, not {seed}")

    record = {"seed": seed, "number": number, **asdict(draw)}
    record["seconds"] = {who: float(f"{t:.3g}") for who, t in draw.seconds.items()}
    record["values"] = {who: float(f"{value:.9g}") for who, value in draw.values.items()}
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")

#!/usr/bin/env python3
"""convert.py MANIFESTS BEFORE AFTER: a directory of stores (STORE/runs/RUN) of schema 1, copied as schema 2.

MANIFESTS/RUN.json tells what run.json keeps of a run's plan.toml (`plan`, `measurands`, `cells`); the test goldens.rs
writes them. AFTER must not exist yet. What changes:

  run.json      {schema, meta, plan, measurands, cells}: the cells with their quantities, and why they were skipped
  cell.json     gone: what was asked for is in run.json
  skipped.json  gone: a cell that was skipped has no directory
  infra.json    schema
  record.json   schema; the cell has a target, a boot, and its conditions together

All other files are copied as they are.
"""
import json, pathlib, shutil, sys

SCHEMA = 2
CONDITIONS = ["cpus", "duration", "warmup", "limit", "stop_on", "max_temp"]
META = ["id", "plan", "latido", "command", "machine", "started", "finished", "cells", "verdict", "headline"]


def load(path):
    return json.loads(path.read_text())


def store(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def only(value, keys, where):
    """A key that nobody thought of must not get lost."""
    more = set(value) - set(keys)
    assert not more, f"{where}: unknown keys: {', '.join(sorted(more))}"


def cell(old, where):
    """A cell of schema 1 as one of schema 2."""
    levels = ["plan", "kernel", "tuning", "load", "scheduling", "probe", "repeat", "seed"]
    only(old, ["schema", *levels, *CONDITIONS], where)
    return {
        "schema": SCHEMA,
        "plan": old["plan"],
        "target": "local",
        "kernel": old["kernel"],
        "boot": 1,
        "tuning": old["tuning"],
        "load": old["load"],
        "scheduling": old["scheduling"],
        "probe": old["probe"],
        "conditions": {key: old.get(key) for key in CONDITIONS},
        "repeat": old["repeat"],
        "seed": old["seed"],
    }


def record(path):
    value = load(path)
    value["schema"] = SCHEMA
    value["cell"] = cell(value["cell"], path)
    store(path, value)


def directory(path):
    """One cell's directory, or an abandoned one; returns the cell asked for and why it was skipped, if it was."""
    asked = load(path / "cell.json")
    (path / "cell.json").unlink()
    for name in ["record.json", "checkpoint/record.json"]:
        if (path / name).exists():
            record(path / name)
    if (path / "infra.json").exists():
        store(path / "infra.json", {**load(path / "infra.json"), "schema": SCHEMA})
    reason = None
    if (path / "skipped.json").exists():
        reason = load(path / "skipped.json")["reason"]
        (path / "skipped.json").unlink()
        path.rmdir()
    return cell(asked, path), reason


def run(path, told):
    of_seed = {one["cell"]["seed"]: one for one in told["cells"]}
    assert len(of_seed) == len(told["cells"]), f"{path}: two cells of one seed"
    cells = {}
    for place in sorted((path / "cells").iterdir()):
        asked, reason = directory(place)
        planned = of_seed.pop(asked["seed"])
        assert planned["cell"] == asked, f"{place}: the plan gives another cell: {planned['cell']} {asked}"
        cells[int(place.name)] = {**planned, **({"skipped": reason} if reason else {})}
    # What was never begun has no directory: it fills the gaps in the order in which it would have run.
    missing = [one for one in told["cells"] if one["cell"]["seed"] in of_seed]
    for number in range(1, len(told["cells"]) + 1):
        if number not in cells:
            cells[number] = missing.pop(0)
    assert not missing
    for place in sorted((path / "abandoned").glob("*")):
        directory(place)
    old = load(path / "run.json")
    only(old, ["schema", *META], path)
    store(
        path / "run.json",
        {
            "schema": SCHEMA,
            "meta": {key: old[key] for key in META},
            "plan": told["plan"],
            "measurands": told["measurands"],
            "cells": [cells[number] for number in sorted(cells)],
        },
    )
    assert len(cells) == old["cells"], f"{path}: {len(cells)} cells, {old['cells']} in run.json"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    manifests, before, after = map(pathlib.Path, sys.argv[1:])
    shutil.copytree(before, after)
    runs = sorted(after.glob("*/runs/*"))
    for path in runs:
        run(path, load(manifests / f"{path.name}.json"))
    print(f"{len(runs)} runs converted")


main()

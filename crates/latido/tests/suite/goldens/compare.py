#!/usr/bin/env python3
"""compare.py [OPTIONS] BEFORE AFTER: two directories of outputs (see produce.sh), file by file.

Prints a unified diff of each file that differs, then how many files are equal and how many lines of each other one
differ. Exit status: 0 all equal (after the rules), 1 something differs, 2 a rule is wrong or unused.

  --rules FILE     allowed differences, TOML; see below
  --only GLOB      look at these files alone (path relative to BEFORE; repeatable; `*` matches `/` too)
  --skip GLOB      leave these files out (repeatable)
  --summary        no diffs, only the numbers
  --lines N        at most N lines of diff a file (default 60; 0: all)
  --width N        cut longer lines of a diff (default 300; 0: never)
  --context N      lines of context (default 2)
  --partial        with --only or --skip: rules that match nothing in what is left are no error

Rules:

  [[rule]]
  demand = "D12: durations are printed with three digits"    # required: which demand permits the difference
  files = "*/show*.txt"               # glob or list of globs; default all files
  pattern = '(\\d+\\.\\d)0 ms'          # Python regular expression (MULTILINE), substituted in the BEFORE text
  replace = '\\1 ms'                   # as re.sub; default: empty
  after = true                        # the same substitution in the AFTER text too; default false
  # or one of its own for the AFTER text:
  # after = { pattern = '...', replace = '...' }

  [[rule]]
  demand = "D9: one unit a column"
  files = "*/show*.txt"
  normaliser = "terminal"             # instead of `pattern`: a function of normal.py; other keys in `options`
  options = { after_only = ["sd"] }

  [[only]]                            # files that one side alone has
  demand = "D7: Markdown tables are gone"
  side = "before"                     # or "after"
  files = "*/figures/*-table.md"

Rules act in the order of the file, each on what the one before it left. Then the texts must be equal. A rule that changes
nothing anywhere, or an [[only]] that fits no file, is an error: what is not needed must go.
HTML and SVG are compared as they are; only for the diff they are broken between tags.
"""
import argparse, collections, fnmatch, os, re, subprocess, sys, tempfile, tomllib
from normal import NORMALISERS


def fail(text):
    print(f"compare.py: {text}", file=sys.stderr)
    sys.exit(2)


def globs(value, where):
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
        fail(f"{where}: `files` must be a glob or a list of globs")
    return value


class Rule:
    def __init__(self, number, table):
        self.where = f"rule {number}"
        self.demand = demand(table, self.where)
        self.files = globs(table.pop("files", "*"), self.where)
        self.changed = 0
        name = table.pop("normaliser", None)
        self.normaliser = NORMALISERS.get(name)
        if name is not None:
            self.options = table.pop("options", {})
            if self.normaliser is None:
                fail(f"{self.where}: there is no normaliser {name}")
            unknown(table, self.where)
            return
        self.before = self.substitution(table)
        after = table.pop("after", False)
        if after is True:
            self.after = self.before
        elif after is False:
            self.after = None
        elif isinstance(after, dict):
            self.after = self.substitution(after)
            unknown(after, self.where)
        else:
            fail(f"{self.where}: `after` must be true, false or a table")
        if self.before is None and self.after is None:
            fail(f"{self.where}: there is no `pattern`")
        unknown(table, self.where)

    def substitution(self, table):
        pattern, replace = table.pop("pattern", None), table.pop("replace", "")
        if pattern is None:
            return None
        try:
            return re.compile(pattern, re.MULTILINE), replace
        except re.error as error:
            fail(f"{self.where}: `pattern`: {error}")

    def apply(self, path, before, after):
        if not fits(path, self.files):
            return before, after
        if self.normaliser:
            new = self.normaliser(before, after, self.options)
            self.changed += (new[0] != before) + (new[1] != after)
            return new
        out = []
        for text, how in (before, self.before), (after, self.after):
            try:
                new = how[0].sub(how[1], text) if how else text
            except (re.error, IndexError) as error:
                fail(f"{self.where}: `replace`: {error}")
            self.changed += new != text
            out.append(new)
        return out


class Only:
    def __init__(self, number, table):
        self.where = f"only {number}"
        self.demand = demand(table, self.where)
        self.side = table.pop("side", None)
        if self.side not in ("before", "after"):
            fail(f"{self.where}: `side` must be \"before\" or \"after\"")
        self.files = globs(table.pop("files", None), self.where)
        unknown(table, self.where)
        self.changed = 0


def demand(table, where):
    text = table.pop("demand", None)
    if not isinstance(text, str) or not text.strip():
        fail(f"{where}: it must name the demand that permits the difference (`demand`)")
    return text


def unknown(table, where):
    if table:
        fail(f"{where}: unknown keys: {', '.join(table)}")


def fits(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def files(root):
    if not os.path.isdir(root):
        fail(f"{root} is no directory")
    found = {}
    for here, _, names in os.walk(root):
        for name in names:
            full = os.path.join(here, name)
            found[os.path.relpath(full, root)] = full
    return found


def read(path):
    with open(path, "rb") as file:
        return file.read().decode("utf-8", errors="surrogateescape")


def broken(path, text):
    """For the diff: HTML and SVG stand on few very long lines."""
    if path.endswith((".html", ".svg")):
        text = re.sub(r">(?=<)", ">\n", text)
        text = re.sub(r"(</[a-z0-9]+>)(?=[^\n])", r"\1\n", text)
        text = re.sub(r",(?=\{)", ",\n", text)  # the data (JSON) on the page
    return text


def diff(path, before, after, context):
    with tempfile.TemporaryDirectory() as work:
        names = []
        for name, text in ("b", before), ("a", after):
            names.append(os.path.join(work, name))
            with open(names[-1], "wb") as file:
                file.write(broken(path, text).encode("utf-8", errors="surrogateescape"))
        done = subprocess.run(
            ["diff", "-a", f"-U{context}", "--label", f"before/{path}", "--label", f"after/{path}", *names],
            capture_output=True,
        )
    return done.stdout.decode("utf-8", errors="replace").splitlines()


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rules")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--partial", action="store_true")
    parser.add_argument("--lines", type=int, default=60)
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--context", type=int, default=2)
    options = parser.parse_args()

    rules, onlys = [], []
    if options.rules:
        try:
            with open(options.rules, "rb") as file:
                tables = tomllib.load(file)
        except (OSError, tomllib.TOMLDecodeError) as error:
            fail(f"{options.rules}: {error}")
        rules = [Rule(number, table) for number, table in enumerate(tables.pop("rule", []), 1)]
        onlys = [Only(number, table) for number, table in enumerate(tables.pop("only", []), 1)]
        unknown(tables, options.rules)

    sides = files(options.before), files(options.after)
    chosen = lambda path: (not options.only or fits(path, options.only)) and not fits(path, options.skip)
    paths = sorted(path for path in {*sides[0], *sides[1]} if chosen(path))
    equal = by_rule = permitted = 0
    different, kinds = {}, collections.Counter()
    for path in paths:
        here = path in sides[0], path in sides[1]
        if not all(here):
            side = "before" if here[0] else "after"
            fitting = [only for only in onlys if only.side == side and fits(path, only.files)]
            for only in fitting:
                only.changed += 1
            if fitting:
                permitted += 1
                continue
            count = read(sides[0 if here[0] else 1][path]).count("\n")
            different[path] = count, f"only {side}"
            if not options.summary:
                print(f"only {side}: {path} ({count} lines)\n")
            continue
        before, after = raw = read(sides[0][path]), read(sides[1][path])
        # Also where both are equal: a rule must not make them differ, and counts as used.
        for rule in rules:
            before, after = rule.apply(path, before, after)
        if before == after:
            equal += 1
            by_rule += raw[0] != raw[1]
            continue
        lines = diff(path, before, after, options.context)
        body = [line for line in lines[2:] if line[:1] in "+-"]
        note = "" if body else "line breaks only"
        if raw[0] == raw[1]:
            note = "equal without the rules"
        different[path] = max(1, len(body)), note
        kinds[os.path.splitext(path)[1]] += 1
        if not options.summary:
            shown = lines[: options.lines] if options.lines else lines
            for line in shown:
                cut = options.width and len(line) > options.width
                print(line[: options.width] + f" ... ({len(line)} characters)" if cut else line)
            if len(shown) < len(lines):
                print(f"... {len(lines) - len(shown)} more lines of this diff")
            print()

    print(f"{equal} of {len(paths)} files equal", end="")
    print(f", {by_rule} of them by the rules" if options.rules else "", end="")
    print(f"; {permitted} on one side alone, permitted" if permitted else "", end="")
    print(f"; {len(different)} differ")
    if different:
        print("by kind: " + ", ".join(f"{kind or 'none'} {count}" for kind, count in kinds.most_common()))
        width = max(len(str(count)) for count, _ in different.values())
        for path, (count, note) in different.items():
            print(f"  {count:>{width}} lines  {path}{'  (' + note + ')' if note else ''}")
    unused = [rule for rule in [*rules, *onlys] if not rule.changed]
    for rule in rules + onlys:
        print(f"  {rule.where}: acted on {rule.changed} texts: {rule.demand}")
    for rule in unused:
        print(f"compare.py: {rule.where} is unused: {rule.demand}", file=sys.stderr)
    if unused and not options.partial:
        sys.exit(2)
    sys.exit(1 if different else 0)


main()

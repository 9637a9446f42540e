"""Extracts the figures from a run's report in text form, for the short log of a script of this folder.

usage: latido report last --format text | python3 scripts/slow/figures.py
       python3 scripts/slow/figures.py --self-test

It prints, in this order: what the report says of the emulation; the number of warnings of replicates that are identical to others; the
study's tables (only the measured rows), or without a study the maxima of the repeats and the summaries; one line per expectation,
whether it holds; the verdict.
"""

import re
import sys


# What stands for figures that were not found: then the report has another form than this script knows, and the status is 1.
NO_TABLE, NO_VERDICT = "no table was found", "no verdict was found"


def blocks(text):
    """Returns the blocks between blank lines, as lists of lines."""
    return [part.split("\n") for part in re.split(r"\n\s*\n", text.strip("\n"))]


def rows(block):
    """Returns a table's rows with its heading, without the remarks below it."""
    return [line for line in block[1:] if line and not line.startswith(" ")]


def study(block):
    """Returns a table of the study as `title, its columns:` and the measured rows; an empty list if none was measured."""
    heads = [line.split() for line in block[1:] if line.startswith(" ")]
    measured = [line for line in rows(block) if not line.startswith("–") and "not measured" not in line]
    title = re.sub(r"[:;] (median )?over .*", "", block[0])
    title = re.sub(r"(: [^:]+)\1$", r"\1", title)
    # A word that is above several columns is printed once.
    words = [" ".join(dict.fromkeys(word for word in head if word != "unit")) for head in heads]
    return [f"{title}, {'; '.join(words)}:", *(f"  {re.sub(' {2,}', '  ', line)}" for line in measured)] if measured else []


def outcomes(block):
    """Returns a line for each expectation. In the report its further lines are indented more."""
    lines = []
    for line in block[1:]:
        if re.match(r"  \S", line):
            lines.append(line.strip())
        # A line that is not indented is a heading within the block.
        elif lines and line.startswith(" "):
            lines[-1] += " " + line.strip()
    return [re.sub(r"; undecided: .*|; one repeat .*|; \d+ repeats .*", "", re.sub(" {2,}", ": ", line, count=1)) for line in lines]


def paragraphs(pattern, text):
    """Returns the paragraphs whose first line begins with the pattern, each on one line: the report wraps and indents what is too long."""
    return [re.sub(r"\n +", " ", one) for one in re.findall(rf"^{pattern}.*(?:\n  .*)*", text, re.M)]


def in_short(verdict):
    """Returns the verdict, and how many conclusions hold where it counts them."""
    counts = re.search(r"\bof \d+ (?:conclusions|expectations) .*", verdict)
    return verdict.partition(":")[0] + (f": {counts[0]}" if counts else "")


def figures(text):
    """Returns the lines for the log."""
    # Warnings are right above the first table.
    found = [block for block in blocks(re.sub(r"^warning: .*\n(  .*\n)*", "", text, flags=re.M)) if block]
    studied = [line for block in found if len(block) > 1 and block[1].split()[:1] == ["unit"] for line in study(block)]
    emulated = re.search(r"^ emulated: (.+(\n .+)?)", text, re.M)
    lines = [f"emulated: {' '.join(emulated[1].split())}"] if emulated else []
    copies = [one for one in paragraphs("warning: ", text) if "identical members count once" in one]
    lines.append(f"warnings of members that are identical to others: {len(copies)}")
    tables = []
    for block in found:
        if len(block) > 2 and block[1].startswith("configuration ") and "quantiles" not in block[0]:
            # One line for the heading and the title.
            heading, *others = rows(block)
            tables += [f"{heading}  -- {block[0]}", *others]
    lines += studied or tables or [NO_TABLE]
    for block in found:
        if block[0] in ("expected", "conclusions of the study"):
            lines += outcomes(block)
    return lines + ([in_short(one) for one in paragraphs("[A-Z][A-Z ]+: ", text)[-1:]] or [NO_VERDICT])


PLANTED = """Title of the report

warning: wakeup, busy on built-full: repeats 2, 3, 4, 5, 6, 7, 8, 9 are
         identical to others: identical members count once
warning: wakeup, idle on built-full: repeat 9 is identical to another: identical members count
         once
warning: of another kind
Wake-up latency, maxima of the repeats (µs)
configuration    repeats  least max
stock                  9      21.72
 emulated: one CPU; a
 reading takes 82 ns

Wake-up latency, quantiles with 95 % limits (µs)
configuration    wake-ups    p50
stock               18000   3.06

expected
  holds      the one: 5 µs
             against 6 µs; one repeat left out
  undecided  the other: 7 µs; undecided: chance

PASS: the one holds: 5 µs
"""
CONCLUDED = """conclusions of the study
  not judged  4: no plan measures
              it
expected by this plan, not by the study
  holds       the last

run 20261129T070640Z-execution-times-nrmm
INCONCLUSIVE: emulated (ranks kernels, not hardware); of 14 conclusions of the study, 14 not
              measured; of 2 expectations of the plan, 2 undecided
"""
STUDIED = """Time by workers; median over 3 repeats
             unit  full  full
                    avg   max
4              ns  8 500  9 000
– published    ns  1 024  4 626
13             ns  not measured
"""
WANTED = [
    "emulated: one CPU; a reading takes 82 ns",
    "warnings of members that are identical to others: 2",
    "configuration    repeats  least max  -- Wake-up latency, maxima of the repeats (µs)",
    "stock                  9      21.72",
    "holds: the one: 5 µs against 6 µs",
    "undecided: the other: 7 µs",
    "PASS",
]


def self_test():
    """Checks the figures of planted reports."""
    found = figures(PLANTED), figures(STUDIED)[1:], figures(CONCLUDED)[1:]
    concluded = [NO_TABLE, "not judged: 4: no plan measures it", "holds: the last"]
    concluded.append("INCONCLUSIVE: of 14 conclusions of the study, 14 not measured; of 2 expectations of the plan, 2 undecided")
    assert found == (WANTED, ["Time by workers, full; avg max:", "  4  ns  8 500  9 000", NO_VERDICT], concluded), found
    print("the figures of planted reports are found")


def main():
    lines = figures(sys.stdin.read())
    print("\n".join(lines))
    return 1 if {NO_TABLE, NO_VERDICT} & set(lines) else 0


if __name__ == "__main__":
    sys.exit(self_test() if "--self-test" in sys.argv else main())

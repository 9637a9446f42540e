"""Normalisers of compare.py: what a pattern cannot say. Each takes the texts before and after, and the rule's own keys.

Numbers are compared in the unit that they are printed in, to the precision of the less precise of both; with the same
precision they must be the same.
"""
import re
from decimal import Decimal

UNITS = {"ps": ("s", -12), "ns": ("s", -9), "us": ("s", -6), "µs": ("s", -6), "ms": ("s", -3), "s": ("s", 0)}
UNITS |= {"µrad": ("rad", -6), "mrad": ("rad", -3), "rad": ("rad", 0)}
UNITS |= {unit + "²": (base + "²", 2 * power) for unit, (base, power) in UNITS.items() if base == "s"}
NAMES = "|".join(sorted(UNITS, key=len, reverse=True))
SPACES = " \u00a0\u2009\u202f"
NUMBER = re.compile(rf"(?<![\w.])([-−]?\d(?:[{SPACES}]?\d)*(?:\.\d+)?)(?:[{SPACES}]?({NAMES})(?![\w²]))?")
HEAD_UNIT = re.compile(rf"(?: \(| in )({NAMES})\)?\.?$")
COLOUR = re.compile("\x1b\\[[0-9;]*m")


COLOURED = re.compile("\x1b\\[(3\\d)m( *)(\\S+)\x1b\\[0m")


def marked(found):
    """A coloured cell keeps a mark of its colour."""
    return f"{found[2]}{chr(0xE000 + int(found[1]))}{found[3]}"


def number(text):
    return Decimal("".join(one for one in text if one not in SPACES).replace("−", "-"))


def ulp(value, power):
    return Decimal(1).scaleb(value.as_tuple().exponent + power)


def same_number(a, b, unit_a, unit_b):
    """Two matches of NUMBER; the units are those of their columns."""
    base_a, power_a = UNITS.get(a[2] or unit_a, ("", 0))
    base_b, power_b = UNITS.get(b[2] or unit_b, ("", 0))
    if (base_a, base_b) != (base_b, base_a):
        return False
    one, two = number(a[1]), number(b[1])
    ulps = ulp(one, power_a), ulp(two, power_b)
    one, two = one.scaleb(power_a), two.scaleb(power_b)
    return one == two if ulps[0] == ulps[1] else abs(one - two) <= sum(ulps) / 2


def same_cell(a, b, unit_a=None, unit_b=None):
    if a == b and (unit_a is None or unit_a == unit_b):
        return True
    numbers = list(NUMBER.finditer(a)), list(NUMBER.finditer(b))
    if not numbers[0] or len(numbers[0]) != len(numbers[1]):
        return a == b and not numbers[0]
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    return all(same_number(one, two, unit_a, unit_b) for one, two in zip(*numbers))


def head_of(cell):
    """A head without its unit, and the unit."""
    found = HEAD_UNIT.search(cell)
    return (cell[: found.start()], found[1]) if found else (cell, None)


def labels(text):
    """Label sets as they were printed: `CPU 1 kind=normal shared=no`; as they are: `CPU 1, normal`."""

    def one(found):
        key, value = found[1], found[2]
        if key == "shared":
            return ", shared" if value == "yes" else ""
        return f", {value}" if key in ("kind", "mode") else f", {key} {value}"

    at = re.search(r"(?: (?:kind|shared|mode|size)=\w+)*$", text).start()
    return text[:at] + re.sub(r" (kind|shared|mode|size)=(\w+)", one, text[at:])


def label_sets(before, after, options):
    """The label of a series (`CPU 1 kind=normal shared=no`) stands at the start of a line, or at a configuration's end."""
    series = re.compile(r"^ *(?:\x1b\[2m)?(?:CPU \d+|thread \d+)(?: \w+=\w+)+(?=:)", re.MULTILINE)
    return series.sub(lambda found: labels(found[0]), before), after


def same_label(a, b):
    """A row's label; both may be cut at the width of the terminal."""
    cut = a.endswith("~") or b.endswith("~")
    if not cut:
        return labels(a) == b
    a, b = labels(a.rstrip("~")), labels(b.rstrip("~"))
    shorter = min(len(a), len(b))
    # A label set that is cut within a word (`kind=~`) says nothing.
    return a[:shorter] == b[:shorter] or re.sub(r" \w*=?\w*$", "", a) == b[: len(re.sub(r" \w*=?\w*$", "", a))]


COUNTS = {"samples", "met", "late", "missed"}


class Table:
    def __init__(self, title, heads, rows, units):
        self.name, unit = head_of(title)
        self.heads, self.rows = heads, rows
        self.units = units or [unit] * len(heads)

    def unit(self, at):
        """The unit of a column; counts have none."""
        name = self.known(at, self.heads[at])
        return None if name in COUNTS or name.startswith(">") else self.units[at]

    def column(self, name):
        for at, head in enumerate(self.heads):
            if at and name == self.known(at, head):
                return at
        return None

    @staticmethod
    def known(at, head):
        if at == 1:
            return "samples"
        return re.sub(r"^> ?(\d+) ?([a-zµ]+)$", lambda it: f">{it[1]}{it[2].replace('µ', 'u')}", head)

    def names(self):
        return [self.known(at, head) for at, head in enumerate(self.heads) if at]


def is_head(line):
    return re.match(r" {0,2}[^ ].*  (min|p50) .*\bmax\b", line)


def terminal_tables(text):
    """[line or Table]"""
    out, lines = [], text.split("\n")
    at = 0
    while at < len(lines):
        line = COLOUR.sub("", lines[at])
        if not is_head(line):
            out.append(lines[at])
            at += 1
            continue
        heads = re.split(" {2,}", line.strip())
        title = heads[0]
        if title == "configuration":
            title = COLOUR.sub("", out.pop())
        rows, units = [], []
        at += 1
        # A line of units below the heads, each at the right edge of its column.
        below = COLOUR.sub("", lines[at])
        if below.split() and all(word in UNITS for word in below.split()):
            ends = {found.end(): found[0] for found in re.finditer(r"\S+", below)}
            units = [ends.get(found.end()) for found in re.finditer(r"\S+(?: \S+)*", line)]
            at += 1
        while at < len(lines):
            cells = re.split(" {2,}", COLOUR.sub("", COLOURED.sub(marked, lines[at])).strip())
            if len(cells) != len(heads):
                break
            rows.append(cells)
            at += 1
        out.append(Table(title, heads, rows, units))
    return out


def compare_tables(a, b, options):
    """What is wrong, as a text; empty: nothing."""
    wrong = []
    names = a.names(), b.names()
    for name in names[0]:
        if name in names[1]:
            continue
        empty = all(row[a.column(name)] == "-" for row in a.rows)
        if name not in options.get("before_only", []) and not (empty and name in options.get("before_empty", [])):
            wrong.append(f"column {name} is gone")
    for name in names[1]:
        if name not in names[0] and name not in options.get("after_only", []):
            wrong.append(f"column {name} is new")
    if len(a.rows) != len(b.rows):
        wrong.append(f"{len(a.rows)} rows, {len(b.rows)} rows")
    both = [(a.column(name), b.column(name)) for name in names[0] if name in names[1]]
    left = list(b.rows)

    def fits(one, two):
        return same_label(one[0], two[0]) and all(same_cell(one[i], two[j], a.unit(i), b.unit(j)) for i, j in both)

    for row in a.rows:
        found = next((other for other in left if fits(row, other)), None)
        if found is None:
            wrong.append(f"no row like {row} among {[other for other in left if same_label(row[0], other[0])]}")
        else:
            left.remove(found)
    return "; ".join(wrong)


def terminal(before, after, options):
    parts = terminal_tables(before), terminal_tables(after)
    tables = [[part for part in side if isinstance(part, Table)] for side in parts]
    if [one.name for one in tables[0]] != [one.name for one in tables[1]]:
        return before, after + "[other tables than before]\n"
    said = [compare_tables(a, b, options) for a, b in zip(*tables)]
    out = []
    for side, name in zip(parts, ("before", "after")):
        told, lines = iter(said), []
        for part in side:
            if isinstance(part, Table):
                wrong = next(told)
                part = f"[{part.name}: {len(part.rows)} rows" + (f", {name}: {wrong}]" if wrong else "]")
            lines.append(part)
        out.append("\n".join(lines))
    return out


CAPTION = rf"(?:, maxima|, lateness)? in (the unit (?:beside each|of each column)|{NAMES})(?=[.,;*])"


def page_tables(text):
    """[line or list of rows], with the caption's unit before each table."""
    out = []
    for line in text.split("\n"):
        # LaTeX, as on the page
        if line.endswith(" \\\\") and " & " in line:
            line = line[:-3].replace(" & ", " | ").replace("\\,", " ").replace("~", " ").replace("\\textmu{}", "µ")
        line = re.sub(r"^\| (.*) \|$", r"\1", line)  # Markdown, as on the page
        if " | " not in line and not (line == "\\midrule" and isinstance(out[-1], list)):
            out.append(line)
        elif out and isinstance(out[-1], list):
            out[-1].append(line.split(" | "))
        else:
            out.append([line.split(" | ")])
    return out


def caption(parts, at):
    """Where the caption of the table at `at` stands: before it, but for LaTeX's first lines; none: -1."""
    at -= 1
    while at > 0 and isinstance(parts[at], str) and parts[at].startswith("\\"):
        at -= 1
    return at if at >= 0 and isinstance(parts[at], str) else -1


def caption_unit(parts, at):
    found = re.search(CAPTION, parts[caption(parts, at)]) if caption(parts, at) >= 0 else None
    return found[1] if found and found[1] in UNITS else None


def page(before, after, options):
    """Tables of a page's text: a row a line, cells parted by ` | `."""
    parts = page_tables(before), page_tables(after)
    if [isinstance(one, list) for one in parts[0]] != [isinstance(one, list) for one in parts[1]]:
        return before, after
    for at, (a, b) in enumerate(zip(*parts)):
        if not isinstance(a, list):
            continue
        units = caption_unit(parts[0], at), caption_unit(parts[1], at)
        heads = [head_of(cell) for cell in a[0]], [head_of(cell) for cell in b[0]]
        if len(a) != len(b) or [name for name, _ in heads[0]] != [name for name, _ in heads[1]]:
            continue
        a[0] = b[0] = [name for name, _ in heads[0]]
        for row, other in zip(a[1:], b[1:]):
            if len(row) != len(other):
                continue
            for i, (x, y) in enumerate(zip(row, other)):
                own = [side[i][1] if i < len(side) else None for side in heads]
                if i == 0 and x == y:
                    continue
                tie = [x, y] in options.get("ties", [])
                if tie or same_cell(x, y, own[0] or units[0], own[1] or units[1]):
                    row[i] = other[i] = x
        for side in parts:
            told = caption(side, at)
            if told >= 0:
                side[told] = re.sub(CAPTION, "", side[told])
    return ["\n".join("\n".join(map(" | ".join, part)) if isinstance(part, list) else part for part in side) for side in parts]


def in_base(label):
    """A tick's label as a number of its base unit."""
    found = NUMBER.fullmatch(label)
    if not found or not found[2]:
        return None
    base, power = UNITS[found[2]]
    return f"{number(found[1]).scaleb(power).normalize():e} {base}"


TICK = re.compile(r'(<text class="tick"[^>]*>)([^<]*)</text>')


def ticks(before, after, options):
    """Labels of ticks in SVG, as numbers of the base unit; a label that is wider than before may move along x."""
    labels = [[found[2] for found in TICK.finditer(text)] for text in (before, after)]
    wider = [one != other for one, other in zip(*labels)] if len(labels[0]) == len(labels[1]) else []

    def all_of(text):
        moved = iter(wider)

        def one(found):
            value = in_base(found[2])
            start = re.sub(' x="[^"]*"', "", found[1]) if next(moved, False) else found[1]
            return f"{start}{value}</text>" if value else found[0]

        return TICK.sub(one, text)

    return all_of(before), all_of(after)


def tick_lines(before, after, options):
    """The same in the text of a page, where a label is a line."""

    def all_of(text):
        return "\n".join(in_base(line) or line for line in text.split("\n"))

    return all_of(before), all_of(after)


def without_samples(before, after, options):
    """Verdicts of a page: what was undecided for nothing but `no samples` holds, and stands among what holds.

    A verdict is a card of some lines, or, with many, a row of a table.
    """

    def all_of(text):
        lines = text.split("\n")
        start = next(at for at, line in enumerate(lines) if re.match("[✗✓?!] [A-Z]+: ", line)) + 1
        head = lines.index("configuration | quantity | outcome | why")
        end = next(at for at in range(head, len(lines)) if " | " not in lines[at])
        outcomes = [at for at in range(start, head) if re.fullmatch("[✗✓?] (Fails|Undecided|Holds)", lines[at])]
        rows = []
        for at, following in zip(outcomes, [*(one - 2 for one in outcomes[1:]), head - 1]):
            why = [re.sub("^([✗✓?])", r"\1 ", line) for line in lines[at + 1 : following]]
            rows.append([lines[at - 1], lines[at - 2], lines[at], " ".join(line.rstrip(".") + "." for line in why)])
        rows += [line.split(" | ", 3) for line in lines[head + 1 : end]]
        for row in rows:
            if row[2] == "? Undecided" and row[3].endswith(" no samples.") and "? " not in row[3]:
                row[2], row[3] = "✓ Holds", row[3].removesuffix(" no samples.")
        return "\n".join(lines[:start] + sorted(" | ".join(row) for row in rows) + lines[end:])

    return all_of(before), all_of(after)


def angles(before, after, options):
    """CSV of a pendulum: an angle with its unit became a number of µrad."""
    table = before, after
    rows = [text.split("\n") for text in table]
    if len(rows[0]) != len(rows[1]):
        return before, after
    out = []
    for a, b in zip(*rows):
        cells = [re.findall(r'(?:^|(?<=,))("[^"]*"|[^,]*)', one) for one in (a, b)]
        if len(cells[0]) == len(cells[1]):
            for i, (x, y) in enumerate(zip(*cells)):
                if re.fullmatch(rf"[-−]?[\d.]+[{SPACES}](?:µ|m)?rad", x) and re.fullmatch(r"-?\d+", y) and same_cell(x, y, None, "µrad"):
                    cells[1][i] = x
            b = ",".join(cells[1])
        out.append(b)
    return before, "\n".join(out)


def cells_as_in_text(before, after, options):
    """HTML: what stands in a table's cells and in its caption is compared in the page's text (`page`); here its markup.

    So are copies of tables in other formats.
    """

    def all_of(text):
        text = re.sub(r'(<p class="sub">|aria-label=")([^<"]*)', lambda it: it[1] + re.sub(CAPTION, "", it[2] + ".")[:-1], text)
        text = re.sub(r'(<pre hidden id="(?:latex|markdown)\d+">)[^<]*', r"\1", text)
        return re.sub(r"(<t[dh][^>]*>(?:<b>)?)[^<]*", r"\1", text)

    return all_of(before), all_of(after)


NORMALISERS = {one.__name__: one for one in (terminal, page, ticks, tick_lines, angles, label_sets, cells_as_in_text, without_samples)}


def self_test():
    """Each normaliser lets pass what it is for, and nothing else; a changed number is always seen."""

    def same(name, before, after, options=None):
        one, other = NORMALISERS[name](before, after, options or {})
        return one == other

    table = "Latency (us)\nconfiguration  samples   min   p50  p99.9   max\nnone               33  15.8  17.6      -  21.7\n"
    other = "Latency (ns)\nconfiguration  wake-ups    min    p50    sd    max\nnone                 33  15800  17600  1500  21700\n"
    may = {"after_only": ["sd"], "before_empty": ["p99.9"]}
    assert same("terminal", table, other, may)
    assert not same("terminal", table, other, {**may, "after_only": []}), "a new column"
    assert not same("terminal", table, other, {**may, "before_empty": []}), "a column that is gone"
    assert not same("terminal", table.replace("-  21.7", "9  21.7"), other, may), "a column with a number"
    for changed in (("21700", "21800"), ("33  15800", "34  15800"), ("15800", "15.8"), ("(ns)", "(µs)"), ("none  ", "some  ")):
        assert not same("terminal", table, other.replace(*changed), may), changed
    red = "\x1b[31m  21700\x1b[0m"
    assert not same("terminal", table, other.replace("  21700", red), may), "a colour"
    page_before = "Largest.\nname | value | at\na | 21.7 µs | 1\nb | 793 ns | 2"
    page_after = "Largest in µs.\nname | value | at\na | 21.7 | 1\nb | 0.793 | 2"
    assert same("page", page_before, page_after)
    for changed in (("0.793", "0.794"), ("0.793", "793"), ("| 2", "| 3"), ("in µs", "in ms"), ("a |", "c |")):
        assert not same("page", page_before, page_after.replace(*changed)), changed
    tie = page_after.replace("0.793", "0.792")
    assert same("page", page_before, tie, {"ties": [["793 ns", "0.792"]]})
    tick = '<text class="tick" x="5" y="7">100 ns</text><text class="tick" x="9" y="7">1 µs</text>'
    assert same("ticks", tick, tick.replace('x="5" y="7">100 ns', 'x="6" y="7">0.1 µs'))
    for changed in (("100 ns", "0.2 µs"), ('x="9"', 'x="8"'), ('y="7"', 'y="8"'), ("1 µs", "1 ms")):
        assert not same("ticks", tick, tick.replace(*changed)), changed
    assert same("tick_lines", "100 ns\nx", "0.1 µs\nx") and not same("tick_lines", "100 ns\nx", "1 µs\nx")
    assert same("angles", '"a, b",0.1 s,−17.6 mrad,,7', '"a, b",0.1 s,-17582,,7')
    assert not same("angles", '"a, b",0.1 s,−17.6 mrad,,7', '"a, b",0.1 s,-17682,,7')
    assert not same("angles", '"a, b",0.1 s,−17.6 mrad,,7', '"a, b",0.1 s,-17582,,8')
    assert same("label_sets", "CPU 1 kind=normal shared=yes: 5", "CPU 1, normal, shared: 5")
    assert not same("label_sets", "CPU 1 kind=normal shared=yes: 5", "CPU 1, normal: 5")
    cell = '<tr><th scope="row">a<td class="over">5 µs<td><b>7</b><p>8</p>'
    assert same("cells_as_in_text", cell, cell.replace("5 µs", "5"))
    assert not same("cells_as_in_text", cell, cell.replace("8", "9"))
    assert not same("cells_as_in_text", cell, cell.replace(' class="over"', ""))
    verdict = "? ALL: x\n{}configuration | quantity | outcome | why\n{}end"
    card, row = "Pairs\na\n? Undecided\nWorst: 5.\n✓max < 9: 5\nno samples\n", "a | Pairs | ✓ Holds | Worst: 5. ✓ max < 9: 5.\n"
    undecided = verdict.format(card + "2 more\n", "b | Pairs | ✓ Holds | Worst: 4.\n")
    assert same("without_samples", undecided, verdict.format("2 more\n", "b | Pairs | ✓ Holds | Worst: 4.\n" + row))
    assert not same("without_samples", undecided, verdict.format("2 more\n", "b | Pairs | ✓ Holds | Worst: 3.\n" + row))
    assert not same("without_samples", undecided.replace("✓max", "?max"), verdict.format("2 more\n", "b | Pairs | ✓ Holds | Worst: 4.\n" + row))


if __name__ == "__main__":
    self_test()
    print("normal.py: all well")

#!/usr/bin/env python3
"""The text of an HTML page: htmltext.py FILE... (or standard input) -> standard output.

Text nodes only: no attributes, no markup; <script>, <style> and <template> are dropped. One block per line, white space
folded, empty lines left out. A table's row is one line, its cells joined by ` | ` (an empty cell stays empty). Inside
<pre> and <textarea> each line is a line. Links, and spans in cells, are set apart by a space, as on the page. Texts of an
SVG (<text>, <title>, <desc>) are a line each.
"""
import sys
from html.parser import HTMLParser

DROP = {"script", "style", "template"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
BLOCK = set(
    "address article aside blockquote body button caption dd desc details dialog div dl dt fieldset figcaption figure"
    " footer form g h1 h2 h3 h4 h5 h6 head header hgroup hr html label legend li main menu nav ol option p pre rect"
    " section select summary svg table tbody text textarea tfoot thead title tr ul br path use circle defs".split()
)
CELL = {"td", "th"}
PRE = {"pre", "textarea"}
# What ends a row, whether as a start or an end tag.
ROW_ENDS = {"tr", "thead", "tbody", "tfoot", "table", "caption"}


class Text(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.lines, self.now = [], []
        self.cells = None  # the finished cells of the row that is open
        self.in_cell = False
        self.dropped = self.pre = 0

    def take(self):
        """What was collected, folded."""
        text = " ".join("".join(self.now).split())
        self.now = []
        return text

    def flush(self):
        text = self.take()
        if text:
            self.lines.append(text)

    def end_cell(self):
        if self.in_cell:
            self.cells.append(self.take())
            self.in_cell = False

    def end_row(self):
        """Closes the open row; HTML lets the end tags of cells and rows be left away."""
        if self.cells is None:
            return
        self.end_cell()
        self.now = []
        if any(self.cells):
            self.lines.append(" | ".join(self.cells))
        self.cells = None

    def handle_starttag(self, tag, attrs):
        if tag in DROP:
            self.dropped += 1
        if self.dropped:
            return
        if tag in ROW_ENDS:
            self.end_row()
        if tag == "tr":
            self.flush()
            self.cells = []
        elif tag in CELL and self.cells is not None:
            self.end_cell()
            self.now = []
            self.in_cell = True
        elif tag in BLOCK:
            self.boundary()
        elif tag == "a" or (tag == "span" and self.in_cell):
            self.now.append(" ")
        if tag in PRE:
            self.pre += 1

    def boundary(self):
        if self.in_cell:
            self.now.append(" ")
        else:
            self.flush()

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag in DROP:
            self.dropped = max(0, self.dropped - 1)
            return
        if self.dropped:
            return
        if tag in CELL:
            self.end_cell()
        elif tag in ROW_ENDS:
            self.end_row()
        if tag in BLOCK:
            self.boundary()
        if tag in PRE:
            self.pre = max(0, self.pre - 1)

    def handle_data(self, data):
        if self.dropped:
            return
        if self.pre and not self.in_cell:
            first, *rest = data.split("\n")
            self.now.append(first)
            for line in rest:
                self.flush()
                self.now.append(line)
        else:
            self.now.append(data)


def text(page):
    parser = Text()
    parser.feed(page)
    parser.close()
    parser.end_row()
    parser.flush()
    return "".join(line + "\n" for line in parser.lines)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["-"]:
        page = sys.stdin.read() if name == "-" else open(name, encoding="utf-8").read()
        sys.stdout.write(text(page))

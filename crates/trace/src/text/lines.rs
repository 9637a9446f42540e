//! Splits bytes, in pieces of any size, into lines of limited length.

/// latido cuts a longer line: the kernel's longest lines are half as long.
pub(super) const LONGEST: usize = 16 * 1024;

/// Collects a line from pieces.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// How many bytes of the started line found no room.
    beyond: u64,
}

impl Lines {
    /// Passes on every line that ends in this piece, without its end, and how many of its bytes were cut off.
    pub(super) fn push(&mut self, mut piece: &[u8], mut see: impl FnMut(&[u8], u64)) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = piece.split_at(end);
            piece = rest.get(1..).unwrap_or_default();
            if self.begun.is_empty() && line.len() <= LONGEST {
                see(line, 0);
                continue;
            }
            self.keep(line);
            see(&self.begun, self.beyond);
            self.begun.clear();
            self.beyond = 0;
        }
        self.keep(piece);
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = LONGEST.saturating_sub(self.begun.len()).min(piece.len());
        let (kept, cut) = piece.split_at(room);
        self.begun.extend_from_slice(kept);
        self.beyond = self.beyond.saturating_add(cut.len() as u64);
    }

    /// Returns how many bytes of an unfinished line have come.
    pub(super) fn unfinished(&self) -> u64 {
        self.begun.len() as u64 + self.beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_same_lines_and_long_ones_are_cut() {
        let mut text = b"one\n\ntwo\n".to_vec();
        text.extend(vec![b'x'; LONGEST + 7]);
        text.extend(b"\nend");
        for size in [1, 5, 4096, text.len()] {
            let (mut lines, mut seen) = (Lines::default(), Vec::new());
            for piece in text.chunks(size) {
                lines.push(piece, |line, cut| seen.push((line.len(), cut)));
            }
            assert_eq!(seen, [(3, 0), (0, 0), (3, 0), (LONGEST, 7)], "pieces of {size}");
            assert_eq!(lines.unfinished(), 3);
        }
    }
}

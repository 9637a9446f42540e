//! Which pages latido keeps of a trace that explains samples: those in which a sample was late, and on each CPU the page before them, which
//! shows what happened when the sample began. latido discards all other pages, during the recording and at its end.

use super::Time;
use anyhow::{Context, Result};
use latido_model::record::Kept;
use rustix::fs::{FallocateFlags, fallocate};
use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// The margin that is kept around a sample, ns.
const MARGIN: u64 = 1_000_000;

/// How long before `told` pages are kept in any case, ns: a sample that began then may still be reported.
const RECENT: u64 = 5_000_000_000;

/// The bit of a page's length that marks missing events before the page (RB_MISSED_EVENTS, kernel/trace/ring_buffer.c), and the offset of
/// the length: after the time, in every kernel.
const MISSED: usize = 1 << 31;
const LENGTH_AT: usize = 8;

/// The files of all CPUs, and the pages that they still contain.
#[derive(Debug)]
pub struct Keeping {
    page: u64,
    lanes: Vec<Lane>,
    dropped: u64,
}

#[derive(Debug)]
struct Lane {
    cpu: u32,
    path: PathBuf,
    /// How many pages were looked at.
    looked: u64,
    /// The pages that are still in the file: number and time of each.
    pages: Vec<(u64, u64)>,
}

impl Keeping {
    /// Keeps the files at `places`, with pages of `page` bytes.
    pub fn of(page: u32, places: &[(u32, PathBuf)]) -> Self {
        let lane = |(cpu, path): &(u32, PathBuf)| Lane { cpu: *cpu, path: path.clone(), looked: 0, pages: Vec::new() };
        Self { page: u64::from(page.max(1)), lanes: places.iter().map(lane).collect(), dropped: 0 }
    }

    /// Discards all pages that are around none of these samples, unless they are too young: all samples that ended before `told` are known.
    pub fn sift(&mut self, samples: &[Time], told: u64) {
        let times = Times::of(samples);
        let recent = if told == u64::MAX { told } else { told.saturating_sub(RECENT) };
        for lane in &mut self.lanes {
            // If a page cannot be read or punched, it stays and takes its room. That room is bounded as for every trace.
            let Ok(file) = OpenOptions::new().read(true).write(true).open(&lane.path) else { continue };
            lane.look(&file, self.page);
            let needed = needed(&lane.pages, &times, recent);
            let before = lane.pages.len();
            let given_up =
                lane.pages.iter().zip(&needed).filter(|(_, needed)| !**needed).map(|((number, _), _)| *number);
            for (first, count) in runs(given_up) {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                let _ = fallocate(&file, hole, first * self.page, count * self.page);
            }
            let mut keep = needed.iter();
            lane.pages.retain(|_| keep.next().copied().unwrap_or(true));
            self.dropped += (before - lane.pages.len()) as u64;
        }
    }

    /// Copies what is left of each file into a new file next to it, and marks each page that follows a gap.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn close(self, files: &mut [(u32, PathBuf)], samples: u64) -> Result<Kept> {
        let mut kept = Kept { samples, pages: 0, dropped: self.dropped };
        for (cpu, path) in files {
            let Some(lane) = self.lanes.iter().find(|lane| lane.cpu == *cpu) else { continue };
            let to = path.with_extension("kept");
            lane.copy(self.page, &to).with_context(|| format!("{}", to.display()))?;
            kept.pages += lane.pages.len() as u64;
            // Room for the whole file is needed next.
            let _ = std::fs::remove_file(&*path);
            *path = to;
        }
        Ok(kept)
    }
}

impl Lane {
    /// Adds the pages that were written since the last call.
    fn look(&mut self, file: &File, page: u64) {
        let there = file.metadata().map_or(0, |what| what.len()) / page;
        for number in self.looked..there {
            let mut time = [0; 8];
            if file.read_exact_at(&mut time, number * page).is_err() {
                return;
            }
            self.pages.push((number, u64::from_ne_bytes(time)));
            self.looked = number + 1;
        }
    }

    fn copy(&self, page: u64, to: &Path) -> Result<()> {
        let (from, mut out) = (File::open(&self.path)?, BufWriter::new(File::create(to)?));
        let mut bytes = vec![0; usize::try_from(page)?];
        let mut next = 0;
        for (number, _) in &self.pages {
            from.read_exact_at(&mut bytes, number * page)?;
            if *number != next {
                mark(&mut bytes);
            }
            out.write_all(&bytes)?;
            next = number + 1;
        }
        Ok(out.flush()?)
    }
}

/// Marks a page: events before it are missing.
fn mark(page: &mut [u8]) {
    let at = LENGTH_AT..LENGTH_AT + size_of::<usize>();
    if let Some(word) = page.get_mut(at).and_then(|word| <&mut [u8; size_of::<usize>()]>::try_from(word).ok()) {
        *word = (usize::from_ne_bytes(*word) | MISSED).to_ne_bytes();
    }
}

/// Time ranges around samples, in order. Ranges that overlapped are merged.
struct Times(Vec<Time>);

impl Times {
    fn of(samples: &[Time]) -> Self {
        let mut all: Vec<Time> =
            samples.iter().map(|(begin, end)| (begin.saturating_sub(MARGIN), end.saturating_add(MARGIN))).collect();
        all.sort_unstable();
        let mut joined: Vec<Time> = Vec::new();
        for (begin, end) in all {
            match joined.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((begin, end)),
            }
        }
        Self(joined)
    }

    /// Whether one of them overlaps the range from `begin` to `end`.
    fn touch(&self, begin: u64, end: u64) -> bool {
        let at = self.0.partition_point(|(_, until)| *until < begin);
        self.0.get(at).is_some_and(|(from, _)| *from <= end)
    }
}

/// Groups sorted numbers into runs without a gap: the first number and the count. A hole per page would keep the disk busy for long.
fn runs(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == number => *count += 1,
            _ => runs.push((number, 1)),
        }
    }
    runs
}

/// Tells which pages are around a sample, directly before such a page, or younger than `recent`. A page lasts until the next one begins.
fn needed(pages: &[(u64, u64)], times: &Times, recent: u64) -> Vec<bool> {
    let end = |at: usize| pages.get(at + 1).map_or(u64::MAX, |(_, time)| *time);
    let around = |(at, (_, begin)): (usize, &(u64, u64))| times.touch(*begin, end(at)) || end(at) > recent;
    let around: Vec<bool> = pages.iter().enumerate().map(around).collect();
    let before = around.iter().skip(1).copied().chain([false]);
    around.iter().zip(before).map(|(this, next)| *this || next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_trace::{
        bytes::Endian,
        page::{Layout, Missed, Page},
    };

    const PAGE: usize = 4096;
    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn holes_are_as_long_as_they_can_be() {
        assert_eq!(runs([1, 2, 3, 7, 9, 10].into_iter()), [(1, 3), (7, 1), (9, 2)]);
    }

    /// Writes a file of pages, one per second.
    fn recorded(dir: &Path, seconds: std::ops::Range<u64>) -> PathBuf {
        let path = dir.join("cpu3");
        let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        for second in seconds {
            let mut page = vec![7; PAGE];
            page[..8].copy_from_slice(&(second * SECOND).to_ne_bytes());
            page[8..16].copy_from_slice(&16usize.to_ne_bytes());
            file.write_all(&page).unwrap();
        }
        path
    }

    /// Of a long recording only the pages around the samples and the page before each stay, whenever the samples were reported. Young pages
    /// stay until more is known, a page after a gap is marked, and the room of the other pages is freed.
    #[test]
    fn only_what_samples_need_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = recorded(dir.path(), 0..100);
        let mut keeping = Keeping::of(PAGE as u32, &[(3, path.clone())]);
        let sample = |second: u64| (second * SECOND + 400_000_000, second * SECOND + 500_000_000);
        let numbers = |keeping: &Keeping| keeping.lanes[0].pages.iter().map(|(number, _)| *number).collect::<Vec<_>>();
        keeping.sift(&[sample(20), sample(50)], 90 * SECOND);
        let young: Vec<u64> = (84..100).collect();
        assert_eq!(numbers(&keeping), [&[19, 20, 49, 50][..], &young].concat());
        let bytes = std::fs::read(&path).unwrap();
        let held = bytes.chunks(PAGE).zip(0..).filter(|(page, _)| page[100] == 7).map(|(_, number)| number);
        assert_eq!(held.collect::<Vec<u64>>(), numbers(&keeping), "the room of the others is not free");
        recorded(dir.path(), 100..120);
        // The first sample is no longer among the largest.
        keeping.sift(&[sample(110), sample(50)], u64::MAX);
        assert_eq!(numbers(&keeping), [49, 50, 109, 110]);
        let mut files = [(3, path)];
        let kept = keeping.close(&mut files, 2).unwrap();
        assert_eq!(kept, Kept { samples: 2, pages: 4, dropped: 116 });
        let bytes = std::fs::read(&files[0].1).unwrap();
        let layout = Layout::of(Endian::Little, 8);
        let told: Vec<(u64, Missed)> = bytes
            .chunks(PAGE)
            .map(|bytes| Page::parse(bytes, &layout).unwrap())
            .map(|page| (page.time / SECOND, page.missed))
            .collect();
        let expected = [(49, Missed::Some), (50, Missed::Nothing), (109, Missed::Some), (110, Missed::Nothing)];
        assert_eq!(told, expected);
    }
}

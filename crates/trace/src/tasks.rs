//! What is known of each task, found by its number.

use crate::events::{Comm, Priority};

/// Tasks a page of the table has.
const PAGE: usize = 64;
/// The largest number that a kernel gives (PID_MAX_LIMIT).
const MOST: usize = 1 << 22;
/// So many pages are kept: half a million tasks at once, and no trace takes more memory.
const MOST_PAGES: usize = 1 << 13;

/// A table of tasks. Numbers lie dense, so that pages of them are small beside a hash of each.
#[derive(Debug)]
pub struct Tasks<T> {
    /// The page of each group of numbers; 0 of those that have none.
    pages: Vec<u16>,
    all: Vec<[T; PAGE]>,
    refused: u64,
}

impl<T: Default + Copy> Default for Tasks<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), all: Vec::new(), refused: 0 }
    }
}

impl<T: Default + Copy> Tasks<T> {
    /// What is known of a task; none of one that no kernel can have, or where there are too many.
    #[inline]
    pub fn of(&mut self, pid: i32) -> Option<&mut T> {
        let at = usize::try_from(pid).ok()?;
        let (page, slot) = (at / PAGE, at % PAGE);
        let known = self.pages.get(page).copied().unwrap_or(0);
        let known = if known == 0 { self.make(page)? } else { known };
        self.all.get_mut(usize::from(known) - 1)?.get_mut(slot)
    }

    #[cold]
    fn make(&mut self, page: usize) -> Option<u16> {
        if page >= MOST / PAGE || self.all.len() >= MOST_PAGES {
            self.refused += 1;
            return None;
        }
        if self.pages.len() <= page {
            self.pages.resize(page + 1, 0);
        }
        self.all.push([T::default(); PAGE]);
        let number = u16::try_from(self.all.len()).ok()?;
        *self.pages.get_mut(page)? = number;
        Some(number)
    }

    /// How often a task could not be followed, since there were too many.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// All that were ever looked at, and their neighbours.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &T)> {
        let pages = self.pages.iter().enumerate().filter(|(_, number)| **number > 0);
        pages.flat_map(|(page, number)| {
            let tasks = self.all.get(usize::from(*number) - 1).into_iter().flatten().enumerate();
            tasks.filter_map(move |(slot, task)| Some((i32::try_from(page * PAGE + slot).ok()?, task)))
        })
    }
}

/// What a task is called and how urgent it was last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub comm: Comm,
    /// Its priority.
    pub priority: Priority,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However wild the numbers, the table stays within its pages and says what it left out.
    #[test]
    fn wild_numbers_take_bounded_memory() {
        let mut tasks = Tasks::<[u64; 8]>::default();
        for at in 0..4 * MOST_PAGES {
            let pid = i32::try_from(at * PAGE).unwrap();
            let there = tasks.of(pid).is_some();
            assert_eq!(there, at < MOST_PAGES);
        }
        assert_eq!(tasks.of(-1), None);
        assert_eq!(tasks.of(i32::MAX), None);
        assert_eq!(tasks.refused(), 3 * MOST_PAGES as u64 + 1);
        assert_eq!(tasks.iter().count(), MOST_PAGES * PAGE);
        *tasks.of(64).unwrap() = [7; 8];
        assert_eq!(tasks.iter().filter(|(_, known)| **known == [7; 8]).map(|(pid, _)| pid).collect::<Vec<_>>(), [64]);
    }
}

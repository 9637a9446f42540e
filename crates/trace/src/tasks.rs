//! What is known of each task, found by its number.

use crate::events::{Comm, Priority};

/// Tasks a page of the table has.
const PAGE: usize = 64;
/// The largest number that a kernel gives (PID_MAX_LIMIT).
const MOST: usize = 1 << 22;
/// So many pages are kept: a hundred thousand tasks at once, and no trace takes more memory.
const MOST_PAGES: usize = 1 << 11;
/// So many of them are looked at for one that nobody needs.
const LOOKS: usize = 64;

/// What is known of a task.
pub trait Known: Default + Copy {
    /// Whether something would be wrong without it. What is not needed gives way to other tasks: a machine may start
    /// thousands a second, of which few live.
    fn needed(&self) -> bool;
}

/// A table of tasks. Numbers lie dense, so that pages of them are small beside a hash of each.
#[derive(Debug)]
pub struct Tasks<T> {
    /// The page of each group of numbers; 0 of those that have none.
    pages: Vec<u16>,
    all: Vec<[T; PAGE]>,
    /// The group of each page.
    groups: Vec<usize>,
    /// Which page is looked at next for one that nobody needs.
    hand: usize,
    refused: u64,
}

impl<T> Default for Tasks<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), all: Vec::new(), groups: Vec::new(), hand: 0, refused: 0 }
    }
}

impl<T: Known> Tasks<T> {
    /// What is known of a task; none of one that no kernel can have, or where there are too many.
    #[inline]
    pub fn of(&mut self, pid: i32) -> Option<&mut T> {
        let at = usize::try_from(pid).ok()?;
        let (page, slot) = (at / PAGE, at % PAGE);
        let known = self.pages.get(page).copied().unwrap_or(0);
        let known = if known == 0 { self.make(page)? } else { known };
        self.all.get_mut(usize::from(known) - 1)?.get_mut(slot)
    }

    /// What is known of a task; none of one that was never looked at.
    pub fn get(&self, pid: i32) -> Option<&T> {
        let at = usize::try_from(pid).ok()?;
        let known = usize::from(*self.pages.get(at / PAGE)?).checked_sub(1)?;
        self.all.get(known)?.get(at % PAGE)
    }

    #[cold]
    fn make(&mut self, group: usize) -> Option<u16> {
        let at = if group >= MOST / PAGE {
            None
        } else if self.all.len() < MOST_PAGES {
            self.all.push([T::default(); PAGE]);
            self.groups.push(group);
            Some(self.all.len() - 1)
        } else {
            self.given_up(group)
        };
        let Some(at) = at else {
            self.refused += 1;
            return None;
        };
        if self.pages.len() <= group {
            self.pages.resize(group + 1, 0);
        }
        let number = u16::try_from(at + 1).ok()?;
        *self.pages.get_mut(group)? = number;
        Some(number)
    }

    /// A page of which no task is needed, cleared for another group.
    fn given_up(&mut self, group: usize) -> Option<usize> {
        for _ in 0..LOOKS {
            let at = self.hand;
            self.hand = (at + 1) % MOST_PAGES;
            let (page, of) = (self.all.get_mut(at)?, self.groups.get_mut(at)?);
            if !page.iter().any(T::needed) {
                *page = [T::default(); PAGE];
                let before = std::mem::replace(of, group);
                self.pages.get_mut(before).into_iter().for_each(|number| *number = 0);
                return Some(at);
            }
        }
        None
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

    /// Needed where it is odd.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Word(u64);

    impl Known for Word {
        fn needed(&self) -> bool {
            self.0 % 2 == 1
        }
    }

    /// Tasks come and go, many more than there is room for: those that are needed keep what is known of them.
    #[test]
    fn who_is_not_needed_gives_way() {
        let mut tasks = Tasks::<Word>::default();
        let kept = |group: usize| i32::try_from(group * PAGE + 5).unwrap();
        let groups = 4 * MOST_PAGES;
        for group in 0..groups {
            let pid = kept(group);
            assert_eq!(tasks.of(pid), Some(&mut Word(0)), "nothing is known of another task that was here");
            *tasks.of(pid).unwrap() = Word(if group % 10 == 3 { 1 } else { 2 });
        }
        let found = tasks.iter().filter(|(_, word)| word.needed()).map(|(pid, _)| pid);
        assert_eq!(found.collect::<Vec<_>>(), (3..groups).step_by(10).map(kept).collect::<Vec<_>>());
        assert_eq!((tasks.refused(), tasks.all.len()), (0, MOST_PAGES));
        assert_eq!((tasks.get(kept(3)), tasks.get(kept(4)), tasks.get(-1)), (Some(&Word(1)), None, None));
    }

    /// However wild the numbers, the table stays within its pages and says what it left out.
    #[test]
    fn wild_numbers_take_bounded_memory() {
        let mut tasks = Tasks::<Word>::default();
        for at in 0..4 * MOST_PAGES {
            let pid = i32::try_from(at * PAGE).unwrap();
            let there = tasks.of(pid).map(|word| *word = Word(1)).is_some();
            assert_eq!(there, at < MOST_PAGES);
        }
        assert_eq!(tasks.of(-1), None);
        assert_eq!(tasks.of(i32::MAX), None);
        assert_eq!(tasks.refused(), 3 * MOST_PAGES as u64 + 1);
        assert_eq!(tasks.iter().count(), MOST_PAGES * PAGE);
        *tasks.of(64).unwrap() = Word(7);
        assert_eq!(tasks.iter().filter(|(_, known)| **known == Word(7)).map(|(pid, _)| pid).collect::<Vec<_>>(), [64]);
    }
}

//! A table of tasks, by their number.

use crate::events::{Comm, Priority};

/// The number above the largest that a kernel assigns (PID_MAX_LIMIT).
const MOST: usize = 1 << 22;
/// The most tasks that latido keeps at one time; this limits the memory for any trace.
const MOST_KEPT: usize = 1 << 16;
/// How many tasks latido checks for one that is not needed.
const LOOKS: usize = 64;

/// What is known of a task.
pub trait Known: Default + Copy {
    /// Returns whether the result would be wrong without this task. A task that is not needed makes room for others: a machine may start
    /// thousands of tasks per second, and few of them live long.
    fn needed(&self) -> bool;
}

/// A table of tasks.
#[derive(Debug)]
pub struct Tasks<T> {
    /// By task number: the index in `all` plus 1, or 0 if nothing is known of the task. The vector is as long as the greatest number
    /// requires.
    places: Vec<u32>,
    all: Vec<(i32, T)>,
    /// The index of the next task to check for one that is not needed.
    hand: usize,
    refused: u64,
}

impl<T> Default for Tasks<T> {
    fn default() -> Self {
        Self { places: Vec::new(), all: Vec::new(), hand: 0, refused: 0 }
    }
}

impl<T: Known> Tasks<T> {
    /// Returns what is known of a task; `None` for a number that no kernel can have, or if there are too many tasks.
    #[inline(always)]
    pub fn of(&mut self, pid: i32) -> Option<&mut T> {
        let place = self.places.get(pid as usize).copied().unwrap_or(0);
        let place = if place == 0 { self.make(pid)? } else { place };
        self.all.get_mut(place as usize - 1).map(|(_, known)| known)
    }

    /// Returns what is known of a task; `None` for a task that [`Tasks::of`] never returned.
    pub fn get(&self, pid: i32) -> Option<&T> {
        let place = usize::try_from(*self.places.get(pid as usize)?).ok()?.checked_sub(1)?;
        self.all.get(place).map(|(_, known)| known)
    }

    #[cold]
    #[inline(never)]
    fn make(&mut self, pid: i32) -> Option<u32> {
        let number = usize::try_from(pid).ok().filter(|number| *number < MOST);
        let Some((number, at)) = number.and_then(|number| Some((number, self.room(pid)?))) else {
            self.refused += 1;
            return None;
        };
        if number >= self.places.len() {
            self.places.resize((number + 1).next_power_of_two(), 0);
        }
        let place = at as u32 + 1;
        *self.places.get_mut(number)? = place;
        Some(place)
    }

    /// Makes room for a task: a new place, or the place of a task that is not needed.
    fn room(&mut self, pid: i32) -> Option<usize> {
        if self.all.len() < MOST_KEPT {
            self.all.push((pid, T::default()));
            return Some(self.all.len() - 1);
        }
        for _ in 0..LOOKS {
            let at = self.hand;
            self.hand = (at + 1) % MOST_KEPT;
            let one = self.all.get_mut(at)?;
            if !one.1.needed() {
                let (before, _) = std::mem::replace(one, (pid, T::default()));
                self.places.get_mut(before as usize).into_iter().for_each(|place| *place = 0);
                return Some(at);
            }
        }
        None
    }

    /// Returns how often a task could not be followed, because there were too many.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns all known tasks with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &T)> {
        let places = self.places.iter().filter_map(|place| (*place as usize).checked_sub(1));
        places.filter_map(|place| self.all.get(place).map(|(pid, known)| (*pid, known)))
    }
}

/// A task's last name and priority.
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

    /// A value that is needed if it is odd.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Word(u64);

    impl Known for Word {
        fn needed(&self) -> bool {
            self.0 % 2 == 1
        }
    }

    /// Tasks come and go, many more than there is room for: the table must keep what is known of the tasks that are needed.
    #[test]
    fn who_is_not_needed_gives_way() {
        let mut tasks = Tasks::<Word>::default();
        let all = 0..i32::try_from(4 * MOST_KEPT).unwrap();
        for pid in all.clone() {
            assert_eq!(tasks.of(pid), Some(&mut Word(0)), "nothing is known of another task that was here");
            *tasks.of(pid).unwrap() = Word(if pid % 10 == 3 { 1 } else { 2 });
        }
        let found: Vec<i32> = tasks.iter().filter(|(_, word)| word.needed()).map(|(pid, _)| pid).collect();
        assert_eq!(found, all.filter(|pid| pid % 10 == 3).collect::<Vec<_>>());
        assert_eq!((tasks.refused(), tasks.all.len()), (0, MOST_KEPT));
        assert_eq!((tasks.get(3), tasks.get(4), tasks.get(-1)), (Some(&Word(1)), None, None));
    }

    /// However wild the numbers, the table must stay within its bounds and report what it left out.
    #[test]
    fn wild_numbers_take_bounded_memory() {
        let mut tasks = Tasks::<Word>::default();
        for at in 0..MOST_KEPT + 99 {
            let pid = i32::try_from(2 * at).unwrap();
            let there = tasks.of(pid).map(|word| *word = Word(1)).is_some();
            assert_eq!(there, at < MOST_KEPT);
        }
        assert_eq!(tasks.of(-1), None);
        assert_eq!(tasks.of(i32::MAX), None);
        assert_eq!(tasks.refused(), 101);
        assert_eq!(tasks.iter().count(), MOST_KEPT);
        *tasks.of(64).unwrap() = Word(7);
        assert_eq!(tasks.iter().filter(|(_, known)| **known == Word(7)).map(|(pid, _)| pid).collect::<Vec<_>>(), [64]);
    }
}

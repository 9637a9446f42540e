//! What is known of each task, found by its number.

use crate::events::{Comm, Priority};

/// The largest number that a kernel gives (PID_MAX_LIMIT).
const MOST: usize = 1 << 22;
/// So many tasks are kept at once, and no trace takes more memory.
const MOST_KEPT: usize = 1 << 16;
/// So many of them are looked at for one that nobody needs.
const LOOKS: usize = 64;

/// What is known of a task.
pub trait Known: Default + Copy {
    /// Whether something would be wrong without it. What is not needed gives way to other tasks: a machine may start
    /// thousands a second, of which few live.
    fn needed(&self) -> bool;
}

/// A table of tasks.
#[derive(Debug)]
pub struct Tasks<T> {
    /// By number, the place among all behind which its own lies; 0 of those of which nothing is known. As long as the
    /// greatest number asks for.
    places: Vec<u32>,
    all: Vec<(i32, T)>,
    /// Which one is looked at next for one that nobody needs.
    hand: usize,
    refused: u64,
}

impl<T> Default for Tasks<T> {
    fn default() -> Self {
        Self { places: Vec::new(), all: Vec::new(), hand: 0, refused: 0 }
    }
}

impl<T: Known> Tasks<T> {
    /// What is known of a task; none of one that no kernel can have, or where there are too many.
    #[inline(always)]
    pub fn of(&mut self, pid: i32) -> Option<&mut T> {
        let place = self.places.get(pid as usize).copied().unwrap_or(0);
        let place = if place == 0 { self.make(pid)? } else { place };
        self.all.get_mut(place as usize - 1).map(|(_, known)| known)
    }

    /// What is known of a task; none of one that was never looked at.
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

    /// Room for another one: a new place, or that of one that nobody needs.
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

    /// How often a task could not be followed, since there were too many.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// All of which something is known, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &T)> {
        let places = self.places.iter().filter_map(|place| (*place as usize).checked_sub(1));
        places.filter_map(|place| self.all.get(place).map(|(pid, known)| (*pid, known)))
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

    /// However wild the numbers, the table stays within its bounds and says what it left out.
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

//! What is known of each task, found by its number.

use crate::events::{Comm, Priority};

/// The largest number that a kernel gives (PID_MAX_LIMIT).
const MOST: usize = 1 << 22;
/// So many tasks are kept, and no trace takes more memory.
const MOST_KEPT: usize = 1 << 17;

/// A table of tasks.
#[derive(Debug)]
pub struct Tasks<T> {
    /// By number, the place among all behind which its own lies; 0 of those that were never looked at. As long as the
    /// greatest number asks for.
    places: Vec<u32>,
    all: Vec<(i32, T)>,
    refused: u64,
}

impl<T: Default + Copy> Default for Tasks<T> {
    fn default() -> Self {
        Self { places: Vec::new(), all: Vec::new(), refused: 0 }
    }
}

impl<T: Default + Copy> Tasks<T> {
    /// What is known of a task; none of one that no kernel can have, or where there are too many.
    #[inline(always)]
    pub fn of(&mut self, pid: i32) -> Option<&mut T> {
        let place = self.places.get(pid as usize).copied().unwrap_or(0);
        let place = if place == 0 { self.make(pid)? } else { place };
        self.all.get_mut(place as usize - 1).map(|(_, known)| known)
    }

    #[cold]
    #[inline(never)]
    fn make(&mut self, pid: i32) -> Option<u32> {
        let at = usize::try_from(pid).ok().filter(|at| *at < MOST)?;
        if self.all.len() >= MOST_KEPT {
            self.refused += 1;
            return None;
        }
        if at >= self.places.len() {
            self.places.resize((at + 1).next_power_of_two(), 0);
        }
        self.all.push((pid, T::default()));
        let place = self.all.len() as u32;
        *self.places.get_mut(at)? = place;
        Some(place)
    }

    /// How often a task could not be followed, since there were too many.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// All that were ever looked at.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &T)> {
        self.all.iter().map(|(pid, known)| (*pid, known))
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

    /// However wild the numbers, the table stays within its bounds and says what it left out.
    #[test]
    fn wild_numbers_take_bounded_memory() {
        let mut tasks = Tasks::<[u64; 8]>::default();
        for at in 0..2 * MOST_KEPT {
            let pid = i32::try_from(2 * at).unwrap();
            assert_eq!(tasks.of(pid).is_some(), at < MOST_KEPT);
        }
        assert_eq!(tasks.of(-1), None);
        assert_eq!(tasks.of(i32::MAX), None);
        assert_eq!(tasks.refused(), MOST_KEPT as u64);
        *tasks.of(64).unwrap() = [7; 8];
        assert_eq!(tasks.iter().filter(|(_, known)| **known == [7; 8]).map(|(pid, _)| pid).collect::<Vec<_>>(), [64]);
        assert_eq!(tasks.iter().count(), MOST_KEPT);
    }
}

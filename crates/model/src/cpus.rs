//! Sets of CPUs in the kernel's list format (`0,2-5`), see Documentation/admin-guide/kernel-parameters.rst, "cpu lists".

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{collections::BTreeSet, fmt, str::FromStr};

/// The largest CPU number accepted, the kernel's largest NR_CPUS on any architecture.
pub const MAX_CPU: u32 = 8191;

/// A set of CPU numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuSet(pub BTreeSet<u32>);

impl CpuSet {
    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this CPU is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// The CPUs of this set that are not in the other.
    pub fn without(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.difference(&other.0).copied().collect())
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        CpuSet(cpus.into_iter().collect())
    }
}

impl FromStr for CpuSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = BTreeSet::new();
        for piece in text.trim().split(',') {
            let piece = piece.trim();
            let bad = || format!("`{piece}` is not a CPU or a range of CPUs, for example 2 or 2-5");
            let number = |t: &str| t.parse::<u32>().map_err(|_| bad());
            let (first, last) = match piece.split_once('-') {
                Some((a, b)) => (number(a)?, number(b)?),
                None => (number(piece)?, number(piece)?),
            };
            if first > last {
                return Err(format!("`{piece}` runs backwards: write {last}-{first}"));
            }
            if last > MAX_CPU {
                return Err(format!("`{piece}`: no Linux machine has a CPU {last}"));
            }
            set.extend(first..=last);
        }
        Ok(CpuSet(set))
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                1 => write!(f, "{separator}{first},{last}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_lists() {
        let set: CpuSet = "0,2-4\n".parse().unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 2, 3, 4]);
        for junk in ["", "a", "3-1", "1,,2", "0-99999", "-1"] {
            assert!(junk.parse::<CpuSet>().is_err(), "{junk}");
        }
    }

    proptest::proptest! {
        #[test]
        fn printing_and_reading_agree(cpus in proptest::collection::btree_set(0u32..300, 1..40)) {
            let set = CpuSet(cpus);
            proptest::prop_assert_eq!(set.to_string().parse::<CpuSet>(), Ok(set));
        }
    }
}

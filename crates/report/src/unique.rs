//! Unique names for files, figures, tables and metrics.

use std::collections::BTreeMap;

/// The names given so far, each with the number that [`Names::numbered`] tries first for its next duplicate.
#[derive(Debug)]
pub struct Names<N = String>(BTreeMap<N, usize>);

impl<N> Default for Names<N> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<N: Clone + Ord> Names<N> {
    /// Returns the name if it is free, otherwise the first of its numbered forms, from 2, that is free.
    pub fn numbered(&mut self, name: N, form: impl Fn(&N, usize) -> N) -> N {
        let Some(mut n) = self.0.get(&name).copied() else {
            self.0.insert(name.clone(), 2);
            return name;
        };
        let free = loop {
            let free = form(&name, n);
            n += 1;
            if !self.0.contains_key(&free) {
                break free;
            }
        };
        self.0.insert(name, n);
        self.0.insert(free.clone(), 2);
        free
    }
}

impl Names {
    /// Returns the name if it is free, otherwise the first free one of `name-2`, `name-3` and so on.
    pub fn unique(&mut self, name: String) -> String {
        self.numbered(name, |name, n| format!("{name}-{n}"))
    }
}

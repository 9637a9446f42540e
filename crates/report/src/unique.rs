//! Names that are given once: files, figures, tables, metrics.

use std::collections::BTreeMap;

/// Names that have been given, so that none is given twice, each with the number that the next of its kind tries first.
#[derive(Debug)]
pub struct Names<N = String>(BTreeMap<N, usize>);

impl<N> Default for Names<N> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<N: Clone + Ord> Names<N> {
    /// The name, or the first of its numbered forms, from the second on, that is free.
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
    /// The name, or the first of `name-2`, `name-3` that is free.
    pub fn unique(&mut self, name: String) -> String {
        self.numbered(name, |name, n| format!("{name}-{n}"))
    }
}

//! Converts observations to columns: sum contrasts of blocks, factors and their interactions.

use super::{Name, Observation};
use crate::Refusal;
use std::{collections::BTreeSet, ops::Range};

/// A factor, its levels in the order of their first occurrence, and the level of each observation.
struct Factor {
    name: String,
    levels: Vec<String>,
    of: Vec<usize>,
}

impl Factor {
    fn new(name: &str, given: &[&String]) -> Self {
        let mut levels: Vec<String> = Vec::new();
        let mut of = Vec::new();
        for level in given {
            let at = levels.iter().position(|other| other == *level).unwrap_or_else(|| {
                levels.push((*level).clone());
                levels.len() - 1
            });
            of.push(at);
        }
        Self { name: name.to_owned(), levels, of }
    }

    /// Returns the sum contrasts of a level: 1 in its own column. The last level has no column; it has -1 in all of them.
    fn contrast(&self, level: usize) -> Vec<f64> {
        let columns = self.levels.len() - 1;
        (0..columns).map(|column| if level == columns { -1.0 } else { f64::from(u8::from(level == column)) }).collect()
    }
}

/// The columns and their meaning.
pub(super) struct Design {
    rows: usize,
    blocks: Option<Factor>,
    factors: Vec<Factor>,
    /// The factors of each term, main effects first.
    terms: Vec<Vec<usize>>,
}

impl Design {
    pub fn of(names: &[&str], observations: &[Observation], order: usize) -> Result<Self, Refusal> {
        if names.is_empty() || observations.iter().any(|observation| observation.levels.len() != names.len()) {
            return Err(Refusal::Ragged);
        }
        let of =
            |at: usize| observations.iter().filter_map(|observation| observation.levels.get(at)).collect::<Vec<_>>();
        let factors: Vec<Factor> = names.iter().enumerate().map(|(at, name)| Factor::new(name, &of(at))).collect();
        if let Some(factor) = factors.iter().find(|factor| factor.levels.len() < 2) {
            return Err(Refusal::Missing { cells: vec![format!("a second level of {}", factor.name)] });
        }
        let blocks: Vec<&String> = observations.iter().filter_map(|observation| observation.block.as_ref()).collect();
        if !blocks.is_empty() && blocks.len() != observations.len() {
            return Err(Refusal::Ragged);
        }
        let blocks = Some(Factor::new("block", &blocks)).filter(|blocks| blocks.levels.len() > 1);
        let mut terms: Vec<Vec<usize>> = (1_u64..1 << names.len().min(16))
            .map(|set| (0..names.len()).filter(|factor| set >> factor & 1 == 1).collect::<Vec<_>>())
            .filter(|term| term.len() <= order.max(1))
            .collect();
        terms.sort_by_key(|term| (term.len(), term.clone()));
        let design = Self { rows: observations.len(), blocks, factors, terms };
        let width = design.width();
        if width > 500 {
            return Err(Refusal::OutOfRange { what: "more than 500 effects: request interactions of fewer factors" });
        }
        if width > design.rows {
            return Err(Refusal::Missing { cells: design.missing(observations) });
        }
        Ok(design)
    }

    fn block_columns(&self) -> usize {
        self.blocks.as_ref().map_or(0, |blocks| blocks.levels.len() - 1)
    }

    fn size(&self, term: &[usize]) -> usize {
        term.iter().filter_map(|factor| self.factors.get(*factor)).map(|factor| factor.levels.len() - 1).product()
    }

    fn width(&self) -> usize {
        1 + self.block_columns() + self.terms.iter().map(|term| self.size(term)).sum::<usize>()
    }

    /// Returns the columns of a term for one combination of levels.
    fn product(&self, term: &[usize], levels: &[usize]) -> Vec<f64> {
        term.iter().zip(levels).fold(vec![1.0], |columns, (factor, level)| {
            let contrast = self.factors.get(*factor).map(|factor| factor.contrast(*level)).unwrap_or_default();
            columns.iter().flat_map(|x| contrast.iter().map(move |y| x * y)).collect()
        })
    }

    /// Returns the columns of the intercept, the blocks and the terms.
    pub fn columns(&self) -> Vec<Vec<f64>> {
        let rows: Vec<Vec<f64>> = (0..self.rows)
            .map(|row| {
                let level = |factor: &Factor| factor.of.get(row).copied().unwrap_or(0);
                let block = self.blocks.as_ref().map(|blocks| blocks.contrast(level(blocks))).unwrap_or_default();
                let terms = self.terms.iter().flat_map(|term| {
                    let levels: Vec<usize> = term.iter().filter_map(|at| self.factors.get(*at)).map(level).collect();
                    self.product(term, &levels)
                });
                [1.0].into_iter().chain(block).chain(terms).collect()
            })
            .collect();
        (0..self.width()).map(|column| rows.iter().filter_map(|row| row.get(column).copied()).collect()).collect()
    }

    /// Returns the terms with the range of their coefficients.
    pub fn terms(&self) -> Vec<(Vec<String>, Range<usize>)> {
        self.starts().map(|(term, start)| (self.names(term), start..start + self.size(term))).collect()
    }

    fn starts(&self) -> impl Iterator<Item = (&Vec<usize>, usize)> {
        let mut next = 1 + self.block_columns();
        self.terms.iter().map(move |term| {
            let start = next;
            next += self.size(term);
            (term, start)
        })
    }

    fn names(&self, term: &[usize]) -> Vec<String> {
        term.iter().filter_map(|at| self.factors.get(*at)).map(|factor| factor.name.clone()).collect()
    }

    fn combinations(&self, term: &[usize]) -> Vec<Vec<usize>> {
        term.iter().filter_map(|at| self.factors.get(*at)).fold(vec![Vec::new()], |all, factor| {
            all.iter()
                .flat_map(|levels| (0..factor.levels.len()).map(move |level| [levels.as_slice(), &[level]].concat()))
                .collect()
        })
    }

    fn level_names(&self, term: &[usize], levels: &[usize]) -> Vec<String> {
        term.iter().zip(levels).filter_map(|(at, level)| self.factors.get(*at)?.levels.get(*level).cloned()).collect()
    }

    /// Returns the weights of all coefficients: `part` from `start` on, otherwise 0.
    fn weights(&self, start: usize, part: Vec<f64>) -> Vec<f64> {
        let rest = self.width().saturating_sub(start + part.len());
        std::iter::repeat_n(0.0, start).chain(part).chain(std::iter::repeat_n(0.0, rest)).collect()
    }

    /// Returns the sum contrast of each level of each term.
    pub fn coefficients(&self) -> Vec<(Name, Vec<f64>)> {
        self.starts()
            .flat_map(|(term, start)| {
                self.combinations(term).into_iter().map(move |levels| {
                    let name = (self.names(term), self.level_names(term, &levels), None);
                    (name, self.weights(start, self.product(term, &levels)))
                })
            })
            .collect()
    }

    /// Returns the contrast of each further level with the first one; for several factors with two levels each, the ratio of ratios (of
    /// ratios).
    pub fn contrasts(&self) -> Vec<(Name, Vec<f64>)> {
        let mut all = Vec::new();
        for (term, start) in self.starts() {
            let names = self.names(term);
            let sum = |signed: &[(f64, Vec<usize>)]| {
                let mut part = vec![0.0; self.size(term)];
                for (sign, levels) in signed {
                    part.iter_mut().zip(self.product(term, levels)).for_each(|(sum, x)| *sum += sign * x);
                }
                self.weights(start, part)
            };
            let count = |at: &usize| self.factors.get(*at).map_or(0, |factor| factor.levels.len());
            let first = self.level_names(term, &vec![0; term.len()]).join(", ");
            match term.as_slice() {
                [factor] => all.extend((1..count(factor)).map(|level| {
                    let name = (names.clone(), self.level_names(term, &[level]), Some(first.clone()));
                    (name, sum(&[(1.0, vec![level]), (-1.0, vec![0])]))
                })),
                _ if term.iter().all(|at| count(at) == 2) => {
                    // Of every combination: plus if an even number of the factors has its first level, otherwise minus.
                    let signed = self.combinations(term).into_iter().map(|levels| {
                        let firsts = levels.iter().filter(|level| **level == 0).count();
                        (if firsts % 2 == 0 { 1.0 } else { -1.0 }, levels)
                    });
                    let weights = sum(&signed.collect::<Vec<_>>());
                    all.push(((names, self.level_names(term, &vec![1; term.len()]), Some(first)), weights));
                }
                _ => {}
            }
        }
        all
    }

    /// Returns the cells without a value, or, if there are none, the message that effects and blocks are confounded.
    pub fn missing(&self, observations: &[Observation]) -> Vec<String> {
        let measured: BTreeSet<&Vec<String>> = observations.iter().map(|observation| &observation.levels).collect();
        let all: Vec<usize> = (0..self.factors.len()).collect();
        let cells = self.combinations(&all).into_iter().map(|levels| self.level_names(&all, &levels));
        let missing: Vec<String> = cells.filter(|cell| !measured.contains(cell)).map(|cell| cell.join("/")).collect();
        if missing.is_empty() { vec!["every cell in more than one block".into()] } else { missing }
    }
}

//! The configuration of a recorder.

use crate::buckets::HIGHEST;
use alloc::vec::Vec;
use core::fmt;
use latido_sys::tsc::Scale;

/// What a recorder keeps.
#[derive(Clone, Debug)]
pub struct Config {
    /// Band edges in ns, strictly ascending, at most [`HIGHEST`]; a band is (edge before, edge].
    pub edges: Vec<u64>,
    /// Length of a block in ns, at most 4 s: within that time the partial sum cannot overflow, even with a sample every ns.
    pub block_ns: u64,
    /// Whether the loop is periodic: then the recorder counts slots and records the delays of missed ones.
    pub periodic: bool,
    /// Stop the measurement at the first sample above this, in ns.
    pub stop_on_ns: Option<u64>,
    /// For the busy loop: the scale of its counter. The recorder counts samples of fewer than [`super::TABLE`] ticks in a table.
    pub table: Option<Scale>,
    /// How many of the first samples the recorder keeps in time order; unless it is 0, every sample takes the slower path.
    pub ordered: usize,
}

impl Default for Config {
    /// Returns a configuration with blocks of one second, without bands, slots, stop, table or ordered samples.
    fn default() -> Self {
        Self { edges: Vec::new(), block_ns: 1_000_000_000, periodic: false, stop_on_ns: None, table: None, ordered: 0 }
    }
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// This edge is not above the one before, or above [`HIGHEST`].
    Edge(u64),
    /// The block has no length, or more than 4 s.
    Block,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edge(edge) => write!(f, "band edge {edge} ns must be above the one before and at most {HIGHEST} ns"),
            Self::Block => f.write_str("a block must be longer than 0 and at most 4 s"),
        }
    }
}

impl core::error::Error for ConfigError {}

impl Config {
    /// Checks whether a recorder can satisfy the configuration.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let mut before = None;
        for &edge in &self.edges {
            if edge > HIGHEST || before.is_some_and(|before| before >= edge) {
                return Err(ConfigError::Edge(edge));
            }
            before = Some(edge);
        }
        if self.block_ns == 0 || self.block_ns > 4_000_000_000 { Err(ConfigError::Block) } else { Ok(()) }
    }
}

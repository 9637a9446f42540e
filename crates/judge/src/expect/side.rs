//! A side of a comparison: the series of all repeats of a configuration, or what stands for them.

use crate::judgement::CellJudgement;
use latido_model::{
    record::{Record, Series},
    run::StoredCell,
};

/// One side: all threads and repeats of a configuration.
pub(super) struct Side<M> {
    /// What the other side must have too.
    pub(super) pair: String,
    /// Everything that tells it from others.
    pub(super) own: String,
    /// How it differs, in words: `isolated`.
    pub(super) name: String,
    pub(super) members: Vec<M>,
}

/// A series of a side, with its cell.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) cell: &'a StoredCell,
    pub(super) judged: &'a CellJudgement,
    pub(super) record: &'a Record,
    pub(super) series: &'a Series,
}

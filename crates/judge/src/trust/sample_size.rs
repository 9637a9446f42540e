//! `sample size`: few samples say little about rare events.

use super::checks::Graded;
use crate::{
    deciding::Deciding,
    finding::Grade::{Note, Ok},
    span::{Span, spans},
};
use latido_model::record::Record;

/// Notes a series without enough samples for its 99.9th percentile.
pub(super) fn sample_size(record: &Record, _: &Deciding) -> Graded {
    let fewest = record.series.iter().map(|series| series.count).min().unwrap_or(0);
    let grade = if fewest < 1000 { Note } else { Ok };
    (grade, spans![Span::Count(fewest), " samples in the smallest series"])
}

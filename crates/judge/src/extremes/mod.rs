//! The extremes of one run: how far its tail reaches, how often a limit is exceeded, and what the time was enough to see. The input is
//! numbers of any origin, or each series of each repeat of a stored run. latido never pools repeats here, because nothing shows that they
//! have the same distribution.

pub mod limit;
pub mod seen;
mod stored;
pub mod tail;
#[cfg(test)]
mod tests;

pub use seen::Seen;

use crate::repeat::{Repeat, Track};
use latido_model::record::Point;
use limit::Limit;
use serde::Serialize;
use stored::Stored;

/// The confidence of every interval.
const CONFIDENCE: f64 = 0.95;

/// The extremes of one series of one repeat.
#[derive(Debug, Clone, Serialize)]
pub struct Extremes {
    /// The run's id.
    pub run: String,
    /// The number of the cell in it.
    pub cell: usize,
    /// Which repetition, from 1.
    pub repeat: u32,
    /// The thread's index within the cell.
    pub thread: u32,
    /// The CPU that it was pinned to.
    pub cpu: Option<u32>,
    /// The number of samples, as woken: a missed slot has none.
    pub count: u64,
    /// The largest sample.
    pub max: Option<i64>,
    /// The length of the measurement, seconds.
    pub length_s: f64,
    /// What the time was enough to see.
    pub seen: Option<Seen>,
    /// How often the limit was exceeded, if a limit judges the series.
    pub limit: Option<Limit>,
    /// How far the tail reaches.
    pub tail: tail::Answer,
}

impl Extremes {
    /// Computes the extremes of one thread of a repeat, with the limit that judges it.
    pub fn of(repeat: &Repeat, track: &Track, limit: Option<i64>) -> Self {
        let length_s = repeat.elapsed_ns as f64 / 1e9;
        let (limit, tail) = match track.whole() {
            Some(whole) => Self::of_all(whole, limit, Some(length_s).filter(|length_s| *length_s > 0.0)),
            None => Self::of_stored(track, limit, repeat.elapsed_ns),
        };
        Self {
            run: repeat.run.clone(),
            cell: repeat.number,
            repeat: repeat.repeat,
            thread: track.thread,
            cpu: track.cpu,
            count: track.plain.count,
            max: track.plain.max,
            length_s,
            seen: Seen::of_ns(repeat.elapsed_ns),
            limit,
            tail,
        }
    }

    /// Computes the limit and the tail from the largest samples, which are stored.
    fn of_stored(track: &Track, limit: Option<i64>, elapsed_ns: u64) -> (Option<Limit>, tail::Answer) {
        let stored = Stored::of(track, elapsed_ns);
        let limit = limit.and_then(|limit| {
            let above = stored.as_ref().ok()?.above(track, limit)?;
            Limit::of(limit, &above, track.summary.count, Some(elapsed_ns as f64 / 1e9)).ok()
        });
        let tail = stored.map_or_else(|refused| tail::Answer::Refused { asked: 0, refused }, |stored| stored.tail());
        (limit, tail)
    }

    /// Computes the limit and the tail from all samples, in order of time.
    fn of_all(whole: &[Point], limit: Option<i64>, length_s: Option<f64>) -> (Option<Limit>, tail::Answer) {
        let samples: Vec<i64> = whole.iter().map(|point| point.value).collect();
        let mut sorted = samples.clone();
        sorted.sort_unstable();
        let limit = limit.and_then(|limit| Limit::of_samples(&samples, limit, length_s).ok());
        (limit, tail::of(&samples, &sorted, None, length_s))
    }

    /// Drops what a guest of the laboratory cannot support: it is one trajectory, whose time supports no rate.
    #[must_use]
    pub fn of_a_guest(mut self) -> Self {
        self.seen = None;
        if let Some(limit) = &mut self.limit {
            limit.rarest_seen_s = None;
            limit.samples.per_hour = None;
            limit.clusters.iter_mut().for_each(|bursts| bursts.per_hour = None);
        }
        self
    }
}

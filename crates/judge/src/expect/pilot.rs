//! The figures of what a plan compares, before anything is decided of them.

use super::look;
use crate::judgement::CellJudgement;
use latido_model::{
    plan::Against,
    run::{Run, SeriesSource},
};

/// A comparison of a run with one figure a repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilot {
    /// The claim or the expectation, and where.
    pub what: String,
    /// The repeats that count, of the side that it is about and of the other.
    pub arms: [Vec<f64>; 2],
    /// The difference that the plan calls none, where it says so.
    pub margin: Option<f64>,
}

/// Everything that the plan of a run compares and that has figures on both sides.
pub fn pilots(run: &Run, cells: &[CellJudgement], source: &dyn SeriesSource) -> Vec<Pilot> {
    let mut all = Vec::new();
    for expect in &run.plan.expect {
        let Against::Than(than) = &expect.against else { continue };
        let sentence = expect.claim.as_ref().unwrap_or(&expect.text);
        for open in look(expect, run, cells, source).open {
            let what = format!("{sentence}: {}", open.place);
            all.push(Pilot { what, arms: open.arms, margin: than.margin });
        }
    }
    all
}

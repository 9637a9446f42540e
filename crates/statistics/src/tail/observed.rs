//! What is known of a run whose tail is asked for.

/// One of the largest samples of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peak {
    /// Its place among all samples in order of time, from 0.
    pub index: u64,
    /// Its value, ns.
    pub value: i64,
}

/// What is known of a run.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The largest samples, all of them, in any order. Of equal ones at the end some may lack.
    pub peaks: &'a [Peak],
    /// How many samples there were.
    pub count: u64,
    /// How long they took, seconds.
    pub length_s: f64,
    /// The largest sample of each of equal blocks of time, in order; at least 20, best 100 to 1,000.
    pub block_maxima: &'a [i64],
}

//! The data of a run for the analysis of its tail.

/// One of the largest samples of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peak {
    /// Its place among all samples in time order, from 0.
    pub index: u64,
    /// Its value, in ns.
    pub value: i64,
}

/// The data of a run.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The largest samples without omissions, in any order. Only samples that equal the smallest one may be missing.
    pub peaks: &'a [Peak],
    /// The number of samples.
    pub count: u64,
    /// The length of the run, in s.
    pub length_s: f64,
    /// The largest sample of each of equal blocks of time, in time order; at least 20, best 100 to 1,000.
    pub block_maxima: &'a [i64],
}

//! Turns synthetic samples into what a record and its files would contain.

use hdrhistogram::Histogram;
use latido_judge::repeat::{Pooled, RepeatQuantity, Track, outline_bin};
use latido_model::{
    record::{BAND_EDGES, Band, Block, Class, QUANTILES, Sample, Slots, Summary},
    run::packed::Packed,
};

/// The time between two samples, in ns.
pub const PERIOD: u64 = 1_000_000;

/// Collects the data of a pooled quantity.
pub struct SampleRecorder {
    histogram: Histogram<u64>,
    bands: Vec<Band>,
    count: u64,
    sum: f64,
    squares: f64,
    extremes: Option<(i64, i64)>,
    pub tracks: Vec<Track>,
}

impl SampleRecorder {
    /// Returns an empty recorder.
    pub fn new(limit: Option<u64>) -> Self {
        let mut edges: Vec<i64> = BAND_EDGES.iter().copied().chain(limit.map(|l| l as i64)).collect();
        edges.sort_unstable();
        edges.dedup();
        let bands = edges.into_iter().map(Some).chain([None]).map(|upto| Band { upto, count: 0 }).collect();
        let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        Self { histogram, bands, count: 0, sum: 0.0, squares: 0.0, extremes: None, tracks: Vec::new() }
    }

    /// Adds a thread on this CPU, for this number of seconds.
    pub fn track(&mut self, cpu: u32, seconds: u64) {
        let block = |s: u64| Block { start_ns: s * 1_000_000_000, length_ns: 1_000_000_000, ..Block::default() };
        let blocks = (0..seconds).map(block).collect();
        let bands: Vec<Band> = self.bands.iter().map(|band| Band { count: 0, ..*band }).collect();
        self.tracks.push(Track {
            thread: self.tracks.len() as u32,
            cpu: Some(cpu),
            summary: Summary { bands: bands.clone(), ..Summary::default() },
            plain: Summary { bands, ..Summary::default() },
            outline: Vec::new(),
            blocks,
            largest: Vec::new(),
            samples: Vec::new(),
            facts: [].into(),
        });
    }

    /// Adds `times` equal samples to the newest track.
    pub fn add(&mut self, value: i64, at_ns: u64, times: u64) {
        self.histogram.saturating_record_n(value as u64, times);
        self.bands.iter_mut().find(|b| b.upto.is_none_or(|upto| value <= upto)).unwrap().count += times;
        self.count += times;
        self.sum += value as f64 * times as f64;
        self.squares += (value as f64).powi(2) * times as f64;
        let (low, high) = self.extremes.unwrap_or((value, value));
        self.extremes = Some((low.min(value), high.max(value)));
        let track = self.tracks.last_mut().unwrap();
        let sample = Sample { value, at_ns, class: if value > 200_000 { Class::Preempted } else { Class::Unknown } };
        let block = &mut track.blocks[(at_ns / 1_000_000_000) as usize];
        block.count += times;
        block.sum += i128::from(value) * i128::from(times);
        keep(&mut block.largest, &sample, 4);
        if track.largest.len() < 4_096 || track.largest.last().is_some_and(|s| s.value < value) {
            keep(&mut track.largest, &sample, 4_096);
        }
        let bin = outline_bin(value as f64);
        match track.outline.binary_search_by_key(&bin, |(bin, _)| *bin) {
            Ok(at) => track.outline[at].1 += times,
            Err(at) => track.outline.insert(at, (bin, times)),
        }
        for own in [&mut track.summary, &mut track.plain] {
            own.count += times;
            own.max = own.max.max(Some(value));
            own.bands.iter_mut().find(|b| b.upto.is_none_or(|upto| value <= upto)).unwrap().count += times;
        }
    }

    pub fn pooled(self, limit: Option<u64>) -> RepeatQuantity {
        let n = self.count as f64;
        let mean = (self.count > 0).then(|| self.sum / n);
        let variance = mean.filter(|_| self.count > 1).map(|m| ((self.squares - n * m * m) / (n - 1.0)).max(0.0));
        let quantile = |p: f64| {
            (n * (1.0 - p) >= 1.0 - 1e-9)
                .then(|| self.histogram.value_at_quantile(p).min(self.extremes.unwrap().1 as u64) as i64)
        };
        let summary = Summary {
            count: self.count,
            min: self.extremes.map(|e| e.0),
            max: self.extremes.map(|e| e.1),
            mean,
            sd: variance.map(f64::sqrt),
            quantiles: QUANTILES.iter().map(|(key, p)| ((*key).to_owned(), quantile(*p))).collect(),
            bands: self.bands.clone(),
            bounds: None,
        };
        let above =
            |limit: u64| self.bands.iter().rev().take_while(|b| b.upto != Some(limit as i64)).map(|b| b.count).sum();
        let pooled = Pooled {
            quantity: "latency".into(),
            labels: [].into(),
            unit: "ns".into(),
            plain: summary.clone(),
            summary,
            slots: Some(Slots { met: self.count, late: 0, missed: 0 }),
            above_limit: limit.map(above),
            bins: None,
            woken: Packed::from_histogram(&self.histogram),
            histogram: Packed::from_histogram(&self.histogram),
            elapsed_ns: self.count * PERIOD,
            negative: 0,
            crowds: latido_judge::crowds::Crowds::default(),
        };
        RepeatQuantity { pooled, tracks: self.tracks }
    }
}

fn keep(largest: &mut Vec<Sample>, sample: &Sample, most: usize) {
    let at = largest.partition_point(|s| s.value >= sample.value);
    largest.insert(at, sample.clone());
    largest.truncate(most);
}

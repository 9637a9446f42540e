//! A synthetic farm: runs of machines, day by day, with a kernel update and some unusual machines.

use anyhow::{Context, Result};
use latido_model::{
    record::{QUANTILES, Slots},
    run::codec,
};
use latido_report::export::parquet::{
    BUCKETS, SERIES,
    rows::{self, BucketRow, Key, SeriesRow},
    table::{GROUP, Writer},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
};

/// 2026-11-01T00:00:00Z, in microseconds since 1970.
const FIRST_DAY: i64 = 1_793_491_200_000_000;

const DAY: i64 = 86_400_000_000;

/// The size of the farm.
#[derive(Clone, Copy, Debug)]
pub struct Farm {
    /// The number of machines.
    pub machines: u32,
    /// The number of days.
    pub days: u32,
    /// The runs of a machine per day, with one series each.
    pub runs: u32,
    /// The samples of a series.
    pub samples: u32,
    /// The number of last days with drawn samples and buckets; the other days have only figures.
    pub whole: u32,
}

/// The number of written rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The number of series.
    pub series: u64,
    /// The number of buckets.
    pub buckets: u64,
}

impl Farm {
    /// Writes `day=DAY/{series,buckets}.parquet` below a directory, as if a day's exports had been packed.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn write(self, dir: &Path) -> Result<Written> {
        let mut written = Written::default();
        for day in 0..self.days {
            let whole = day + self.whole >= self.days;
            let into = dir.join(format!("day=2026-11-{:02}", day + 1));
            fs::create_dir_all(&into).with_context(|| format!("making {}", into.display()))?;
            let create = |name| File::create(into.join(name)).map(BufWriter::new);
            let mut buckets = whole.then(|| Writer::new(rows::BUCKET, create(BUCKETS)?)).transpose()?;
            let (mut series, mut waiting) = (Vec::new(), Vec::new());
            for machine in 0..self.machines {
                for run in 0..self.runs {
                    let mut one = self.run(machine, day, run);
                    if let Some(file) = &mut buckets {
                        waiting.extend(one.draw(self.samples)?);
                        written.buckets += flush(file, &mut waiting, GROUP)?;
                    }
                    series.push(one.row);
                }
            }
            if let Some(mut file) = buckets {
                written.buckets += flush(&mut file, &mut waiting, 1)?;
                file.end()?.flush()?;
            }
            written.series += series.len() as u64;
            series.sort_by(|a, b| a.key.cmp(&b.key));
            let mut file = Writer::new(rows::SERIES, create(SERIES)?)?;
            series.chunks(GROUP).try_for_each(|rows| file.write(rows))?;
            file.end()?.flush()?;
        }
        Ok(written)
    }

    /// Makes a run. The farm's second half gets another kernel in the middle of the time, which makes every tenth machine there slower.
    /// Machine 7 has a tail, and other programs disturb machine 13 under load.
    fn run(self, machine: u32, day: u32, run: u32) -> Run {
        let seed = (u64::from(machine) << 32) | (u64::from(day) << 16) | u64::from(run);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let updated = machine >= self.machines / 2 && day >= self.days / 2;
        let slower = if updated && machine.is_multiple_of(10) { 1.5 } else { 1.0 };
        let median = (4_000.0 + 20.0 * f64::from(machine % 100)) * slower * (1.0 + 0.02 * random.random::<f64>());
        let spread = if machine % 1_000 == 7 { 0.6 } else { 0.25 };
        let quantile = |z: f64, random: &mut ChaCha8Rng| {
            let value = median * (spread * z).exp() * (1.0 + 0.01 * z * (random.random::<f64>() - 0.5));
            value as i64
        };
        // The quantiles of the normal distribution at the probabilities of a summary.
        let of_normal = [0.0, 1.2816, 2.3263, 3.0902, 3.7190];
        let mut quantiles = [None; 6];
        for (place, z) in quantiles.iter_mut().zip(of_normal) {
            *place = Some(quantile(z, &mut random));
        }
        let started = FIRST_DAY + i64::from(day) * DAY + i64::from(run) * DAY / i64::from(self.runs.max(1));
        let load = if run.is_multiple_of(2) { "idle" } else { "stress-cpu" };
        let max = quantile(4.2 + random.random::<f64>(), &mut random);
        let row = SeriesRow {
            key: Key {
                run: format!("202611{:02}-{run:04}00-nightly-{machine:04x}", day + 1).into(),
                cell: 1,
                series: 0,
            },
            plan: "nightly".into(),
            started: started + i64::from(random.random_range(0..60_000_000)),
            machine: Some(format!("bench-{machine:04}")),
            kernel: Some(if updated { "6.12.48-rt" } else { "6.12.43-rt" }.into()),
            preemption: Some("rt".into()),
            load: load.into(),
            tuning: "stock".into(),
            scheduling: "fifo 80".into(),
            probe: "wakeup".into(),
            quantity: "latency".into(),
            labels: "{}".into(),
            cpu: Some(1),
            thread: 0,
            unit: "ns".into(),
            n: Some(i64::from(self.samples)),
            min: Some(quantile(-4.0, &mut random)),
            max: Some(max),
            mean: Some(median * (spread * spread / 2.0).exp() * (1.0 + 0.001 * random.random::<f64>())),
            sd: Some(median * spread * (1.0 + 0.01 * random.random::<f64>())),
            quantiles,
            slots: Some(Slots { met: u64::from(self.samples), late: 0, missed: 0 }),
            quantized_width: None,
            verdict: "",
        };
        let mut made = Run { row, random, median, spread, disturbed: machine % 1_000 == 13 && load != "idle" };
        made.judge(max);
        made
    }
}

/// Writes the waiting rows as a row group if there are at least `least`. Returns how many rows it wrote.
fn flush<W: Write + Send>(file: &mut Writer<BucketRow, W>, waiting: &mut Vec<BucketRow>, least: usize) -> Result<u64> {
    if waiting.len() < least {
        return Ok(0);
    }
    file.write(waiting)?;
    let rows = waiting.len() as u64;
    waiting.clear();
    Ok(rows)
}

struct Run {
    row: SeriesRow,
    random: ChaCha8Rng,
    median: f64,
    spread: f64,
    /// Other programs disturb the machine.
    disturbed: bool,
}

impl Run {
    fn judge(&mut self, max: i64) {
        self.row.verdict = match self.disturbed {
            true => "contaminated",
            false if max > 100_000 => "fail",
            false => "pass",
        };
    }

    /// Draws every sample. Returns the buckets, and sets the figures that follow from them.
    fn draw(&mut self, samples: u32) -> Result<Vec<BucketRow>> {
        let mut histogram = codec::histogram()?;
        let (mut min, mut max) = (u64::MAX, 0);
        for _ in 0..samples {
            let value = (self.median * (self.spread * self.normal()).exp()) as u64;
            (min, max) = (min.min(value), max.max(value));
            histogram.record(value)?;
        }
        for (place, (_, p)) in self.row.quantiles.iter_mut().zip(QUANTILES) {
            let enough = f64::from(samples) * (1.0 - p) >= 1.0;
            *place = enough.then(|| i64::try_from(histogram.value_at_quantile(*p))).transpose()?;
        }
        let max = i64::try_from(max)?;
        (self.row.min, self.row.max) = (Some(i64::try_from(min)?), Some(max));
        (self.row.mean, self.row.sd) = (Some(histogram.mean()), Some(histogram.stdev()));
        self.judge(max);
        let bucket = |value, n| -> Result<BucketRow> {
            let low = i64::try_from(histogram.lowest_equivalent(value))?;
            let high = Some(i64::try_from(histogram.highest_equivalent(value))?);
            Ok(BucketRow { key: self.row.key.clone(), kind: "sample", low, high, n: i64::try_from(n)? })
        };
        histogram.iter_recorded().map(|one| bucket(one.value_iterated_to(), one.count_at_value())).collect()
    }

    /// Draws an approximately normal value: the sum of twelve uniform ones has its mean and variance.
    fn normal(&mut self) -> f64 {
        let mut sum = 0;
        for _ in 0..3 {
            let four: u64 = self.random.random();
            sum += [0, 16, 32, 48].iter().map(|shift| (four >> shift) & 0xffff).sum::<u64>();
        }
        sum as f64 / 65_536.0 - 6.0
    }
}

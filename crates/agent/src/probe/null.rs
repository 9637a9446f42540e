//! `null`: made-up samples from the cell's seed. Needs no hardware, no permission and no time.

use crate::measure::{Def, Interval, Measurand, Probe, Quantity, Stage, with_defaults};
use anyhow::{Result, ensure};
use latido_model::{cell::Cell, units::Ns};
use latido_sys::clock::Clock::Monotonic;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::{
    io::Write,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "null",
    about: "made-up samples from the seed: tests everything but the machine",
    help: "\
One thread records made-up samples around `value`, a pure function of the cell's seed: it reads no clock and requests no
policy. Use it to try out plans, stores and reports, and to test conclusions from samples whose distribution is
known.

Options:
  samples   number of samples; default 1000
  value     typical value; default 10us
  dist      `mixed`: half to one and a half of the value, and one sample in a hundred ten times that; or `lognormal` with the
            value as its median; default mixed
  sigma     lognormal: standard deviation of the logarithms within a repeat; default 0.2
  between   standard deviation of the logarithm of a factor on each whole repeat; default 0
  times     factor on the values where the load is named `under`; default 1
  under     a level of the load axis; default none
  hold      how long the measurement then waits; default 0ns
  attach    length in bytes of a file that the record includes, to test a link; default 0

Quantity: latency (ns). It measures nothing.",
    main_option: Some("samples"),
    new: |table| {
        let probe = with_defaults(table, DEFAULTS.clone())?;
        ensure!(probe.samples <= 100_000_000, "`samples` must be at most 100000000");
        for (name, spread) in [("sigma", probe.sigma), ("between", probe.between)] {
            ensure!((0.0..=3.0).contains(&spread), "`{name}` must be 0 to 3");
        }
        ensure!((0.001..=1000.0).contains(&probe.times), "`times` must be 0.001 to 1000");
        Ok(Box::new(probe))
    },
};

/// The made-up time between two samples, ns.
const STEP: u64 = 1_000_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NullProbe {
    samples: u64,
    value: Ns,
    dist: Distribution,
    sigma: f64,
    between: f64,
    times: f64,
    under: String,
    hold: Ns,
    attach: u64,
}

const DEFAULTS: NullProbe = NullProbe {
    samples: 1000,
    value: Ns::from_micros(10),
    dist: Distribution::Mixed,
    sigma: 0.2,
    between: 0.0,
    times: 1.0,
    under: String::new(),
    hold: Ns(0),
    attach: 0,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Distribution {
    Mixed,
    Lognormal,
}

/// The source from which the samples of one cell are drawn.
struct Draws {
    random: ChaCha8Rng,
    dist: Distribution,
    sigma: f64,
    /// The value of this repeat, ns.
    value: f64,
}

impl Draws {
    fn of(probe: &NullProbe, cell: &Cell) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(cell.seed);
        let planted = if cell.load.id == probe.under { probe.times } else { 1.0 };
        // Without spread between repeats, latido draws no number here.
        let off = if probe.between > 0.0 { (probe.between * normal(&mut random)).exp() } else { 1.0 };
        Self { random, dist: probe.dist, sigma: probe.sigma, value: probe.value.0 as f64 * planted * off }
    }

    fn sample(&mut self) -> i64 {
        match self.dist {
            Distribution::Mixed => {
                let (tail, value) = (self.random.random_ratio(1, 100), (self.value as i64).min(i64::MAX / 40));
                let value = self.random.random_range(value / 2..=value + value / 2 + 1);
                if tail { value * 10 } else { value }
            }
            // The cast turns a value that is too large for an integer into the largest integer.
            Distribution::Lognormal => (self.value * (self.sigma * normal(&mut self.random)).exp()).round() as i64,
        }
    }
}

/// Draws a standard normal number (Box and Muller, Annals of Mathematical Statistics 29, 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (radius, angle): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

impl Probe for NullProbe {
    fn measurand(&self) -> Measurand {
        let measurand = Measurand::new("Null", [Quantity::time("latency", "Null latency")]);
        // Zero is a valid number of samples too.
        Measurand { counts_samples: true, made_up: true, ..measurand.counted_by("samples", self.samples) }
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        if self.attach > 0 {
            let mut file = stage.attach("attachment.bin")?;
            let piece: Vec<u8> = (0..1 << 20).map(|n: u32| (n ^ (n >> 8)) as u8).collect();
            let mut left = self.attach;
            while let Some(piece) = piece.get(..left.min(piece.len() as u64) as usize).filter(|piece| !piece.is_empty())
            {
                file.write_all(piece)?;
                left -= piece.len() as u64;
            }
        }
        let (mut recorder, series) = stage.series("latency")?;
        let (probe, mut draws, stop) = (self.clone(), Draws::of(self, &stage.cell), stage.stop());
        let body = move || {
            let first_slot_ns = Monotonic.now();
            recorder.reset();
            for sample in 1..=probe.samples {
                recorder.sample(draws.sample(), sample * STEP);
            }
            recorder.close(probe.samples * STEP);
            hold(probe.hold.as_duration(), &stop);
            // The interval is the time of the made-up samples: equal cells give equal records.
            Ok(Interval { first_slot_ns, ended_ns: first_slot_ns + probe.samples * STEP })
        };
        stage.thread_under(None, None, [series], || body);
        stage.run()
    }
}

fn hold(span: Duration, stop: &AtomicBool) {
    let until = Instant::now() + span;
    while Instant::now() < until && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::sample;

    fn draws(probe: &NullProbe, seed: u64, load: &str) -> Vec<f64> {
        let cell = Cell { seed, load: sample::level(load, &[]), ..sample::cell() };
        let mut draws = Draws::of(probe, &cell);
        (0..probe.samples).map(|_| draws.sample() as f64).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn spread(values: &[f64]) -> f64 {
        let middle = mean(values);
        (values.iter().map(|v| (v - middle).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
    }

    /// The distribution must be the requested one: median and spread within a repeat, spread between repeats, and the planted factor, each
    /// within five standard errors. The same seed must give the same samples.
    #[test]
    fn a_known_distribution_is_drawn() {
        let probe = NullProbe {
            samples: 2_000,
            value: Ns::from_micros(100),
            dist: Distribution::Lognormal,
            sigma: 0.3,
            between: 0.4,
            times: 2.0,
            under: "calm".into(),
            ..DEFAULTS.clone()
        };
        let logs = |seed, load| draws(&probe, seed, load).iter().map(|v| v.ln()).collect::<Vec<_>>();
        let near =
            |value: f64, wanted: f64, error: f64| assert!((value - wanted).abs() < 5.0 * error, "{value} {wanted}");
        near(spread(&logs(7, "none")), 0.3, 0.3 / 4000f64.sqrt());
        near(mean(&logs(7, "calm")) - mean(&logs(7, "none")), 2f64.ln(), 1e-5);
        assert_eq!(logs(7, "none"), logs(7, "none"));
        let repeats: Vec<f64> = (0..400).map(|seed| mean(&logs(seed, "none"))).collect();
        near(mean(&repeats), 100_000f64.ln(), 0.4 / 400f64.sqrt());
        near(spread(&repeats), 0.4, 0.4 / 800f64.sqrt());
    }

    /// The samples must be the same as in earlier versions: stored runs and golden files depend on them.
    #[test]
    fn the_usual_samples_stay() {
        let values = draws(&DEFAULTS, 1, "none");
        assert_eq!(values[..4], [5_803.0, 7_193.0, 12_107.0, 6_526.0]);
        assert_eq!(values[369], 60_390.0, "the first that is ten times as large");
        assert_eq!(values.iter().sum::<f64>(), 10_449_207.0);
    }
}

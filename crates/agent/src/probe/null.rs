//! `null`: made-up samples from the cell's seed. Needs no hardware, no permission and no time.

use crate::measure::{Def, Interval, Measurand, Probe, Quantity, Stage, with_defaults};
use anyhow::{Result, ensure};
use latido_model::units::Ns;
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
    about: "made-up samples from the seed: exercises everything but the machine",
    help: "\
One thread records made-up samples around `value`, a pure function of the cell's seed: no clock is read, no policy is
asked for. For trying out plans, stores and reports, and for tests.

Options:
  samples   how many; default 1000
  value     around which value; default 10us
  hold      how long the measurement then goes on doing nothing; default 0ns
  attach    length in bytes of a file that comes with the record, for trying a link; default 0

Quantity: latency (ns). Nothing is measured.",
    main_option: Some("samples"),
    new: |table| {
        let probe =
            with_defaults(table, NullProbe { samples: 1000, value: Ns::from_micros(10), hold: Ns(0), attach: 0 })?;
        ensure!(probe.samples <= 100_000_000, "more than 100000000 made-up samples are refused");
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
    hold: Ns,
    attach: u64,
}

impl Probe for NullProbe {
    fn measurand(&self) -> Measurand {
        let measurand = Measurand::new("Null", [Quantity::time("latency", "Null latency")]);
        // None at all are a number of samples too.
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
        let (probe, seed, stop) = (self.clone(), stage.cell.seed, stage.stop());
        let body = move || {
            let first_slot_ns = Monotonic.now();
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let value = i64::try_from(probe.value.0).unwrap_or(i64::MAX / 4);
            recorder.reset();
            for sample in 1..=probe.samples {
                // Half to one and a half of the value, and one in a hundred ten times that.
                let tail = if random.random_ratio(1, 100) { 10 } else { 1 };
                recorder.sample(random.random_range(value / 2..=value + value / 2 + 1) * tail, sample * STEP);
            }
            recorder.close(probe.samples * STEP);
            hold(probe.hold.as_duration(), &stop);
            // As long as the made-up samples took: equal cells give equal records.
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

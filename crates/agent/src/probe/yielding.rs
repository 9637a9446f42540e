//! `yielding`: what it costs to give up the CPU when no other task wants it.

use crate::measure::{Def, Interval, Measurand, Probe, Quantity, Stage, with_defaults};
use latido_sys::clock::Clock::Monotonic;
use std::sync::atomic::Ordering::Relaxed;

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "yielding",
    about: "how long sched_yield takes",
    help: "A sample of `cost` is the time around one sched_yield(2).\n\nOptions:\n  calls   how many; default 10000",
    main_option: Some("calls"),
    new: |table| Ok(Box::new(with_defaults(table, Yielding { calls: 10_000 })?)),
};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Yielding {
    calls: u64,
}

impl Probe for Yielding {
    fn measurand(&self) -> Measurand {
        Measurand::new("Yields", [Quantity::time("cost", "Yield: cost").each("call")]).counted_by("calls", self.calls)
    }

    fn measure(&self, stage: &mut Stage<'_>) -> anyhow::Result<()> {
        for cpu in stage.cpus() {
            let (mut recorder, series) = stage.series("cost")?;
            let (calls, stop) = (self.calls, stage.stop());
            stage.thread(cpu, [series], move || {
                recorder.reset();
                move || {
                    let first_slot_ns = Monotonic.now();
                    for _ in (0..calls).take_while(|_| !stop.load(Relaxed)) {
                        let before = Monotonic.now();
                        std::thread::yield_now();
                        let now = Monotonic.now();
                        recorder.sample((now - before).cast_signed(), now - first_slot_ns);
                    }
                    recorder.close(Monotonic.now() - first_slot_ns);
                    Ok(Interval { first_slot_ns, ended_ns: Monotonic.now() })
                }
            });
        }
        stage.run()
    }
}

//! Synthetic configurations of the probes with many quantities: calls timed one by one, ordered series, a pendulum.

use super::{cell, measurand, once, recorder::SampleRecorder};
use latido_judge::{configuration::Configuration, repeat::RepeatQuantity};
use latido_model::{
    cell::{Item, Scheduling},
    quantity::{Measurand, Quantity},
    record::Point,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Returns a configuration of a probe under a load, still without quantities.
fn bare(probe: &str, load: &str, number: usize, measurand: Measurand) -> Configuration {
    let mut cell = cell(load, None);
    cell.probe = Item { name: probe.into(), options: toml::Table::new() };
    Configuration { measurand, ..once(cell, number, Vec::new()) }
}

/// Adds a quantity, both to the only repeat and to the pooled ones.
fn add(configuration: &mut Configuration, quantity: RepeatQuantity) {
    configuration.quantities.push(quantity.pooled.clone());
    configuration.repeats[0].quantities.push(quantity);
}

fn mutex_calls() -> Measurand {
    let call = |name, title| Quantity::time(name, title).each("call");
    let batch = |name, title| Quantity::time(name, title).each("batch").in_unit("ps").beside();
    let quantities = vec![
        call("lock", "Mutex: lock"),
        call("unlock", "Mutex: unlock"),
        call("trylock", "Mutex: trylock"),
        call("empty", "Mutex: empty").beside(),
        batch("lock_batch", "Mutex: lock in batches"),
        batch("unlock_batch", "Mutex: unlock in batches"),
    ];
    measurand("Mutex calls", quantities)
}

/// Returns a quantity with these samples, 10 us apart, without slots.
fn quantity(name: &str, unit: &str, labels: &[(&str, &str)], values: &[i64], ordered: bool) -> RepeatQuantity {
    let mut recorder = SampleRecorder::new(None);
    let at = |i: usize| i as u64 * 10_000;
    recorder.track(2, (at(values.len()) / 1_000_000_000) + 1);
    for (i, value) in values.iter().enumerate() {
        recorder.add(value.abs(), at(i), 1);
    }
    if ordered {
        let point = |(i, value): (usize, &i64)| Point { value: *value, at_ns: at(i) };
        recorder.tracks[0].samples = values.iter().enumerate().map(point).collect();
    }
    let mut one = recorder.pooled(None);
    one.pooled.quantity = name.into();
    one.pooled.unit = unit.into();
    one.pooled.labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    one.pooled.slots = None;
    one
}

/// Returns `n` values around `body`, with rare huge values of up to `giant`.
fn values(seed: u64, n: usize, body: f64, spread: f64, giant: f64) -> Vec<i64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let one = |_| {
        let normal: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let rare = if random.random_bool(0.002) { giant * random.random::<f64>() } else { 0.0 };
        (body * (normal * spread).exp() + rare) as i64
    };
    (0..n).map(one).collect()
}

const KINDS: [[(&str, &str); 2]; 4] = [
    [("kind", "normal"), ("shared", "no")],
    [("kind", "inherit"), ("shared", "no")],
    [("kind", "ceiling"), ("shared", "no")],
    [("kind", "normal"), ("shared", "yes")],
];

/// Returns mutex calls of four kinds, with each call timed, and the empty pair; one configuration per load.
pub fn mutex(loads: &[&str]) -> Vec<Configuration> {
    let of = |(i, load): (usize, &&str)| {
        let mut one = bare("mutex", load, i + 1, mutex_calls());
        one.cell.probe.options.insert("timing".into(), "each".into());
        let giant = if i == 0 { 4_000.0 } else { 90_000.0 * i as f64 };
        for (k, labels) in KINDS.iter().enumerate() {
            for (c, call) in ["lock", "trylock", "unlock"].into_iter().enumerate() {
                let seed = (i * 100 + k * 10 + c) as u64;
                let body = [52.0, 48.0, 60.0][c] * [1.0, 3.1, 8.4, 1.1][k];
                add(&mut one, quantity(call, "ns", labels, &values(seed, 4_000, body, 0.08, giant), false));
            }
        }
        add(&mut one, quantity("empty", "ns", &[], &values(9, 4_000, 41.0, 0.05, giant / 3.0), false));
        one
    };
    loads.iter().enumerate().map(of).collect()
}

/// Returns means of batches of mutex calls, in picoseconds.
pub fn mutex_batch(loads: &[&str]) -> Vec<Configuration> {
    let of = |(i, load): (usize, &&str)| {
        let mut one = bare("mutex", load, i + 30, mutex_calls());
        one.cell.probe.options.insert("timing".into(), "batch".into());
        for (c, call) in ["lock_batch", "unlock_batch"].into_iter().enumerate() {
            let values = values(500 + c as u64, 300, 6_340.0 + 700.0 * c as f64, 0.03, 4_000.0);
            add(&mut one, quantity(call, "ps", &KINDS[0], &values, false));
        }
        one
    };
    loads.iter().enumerate().map(of).collect()
}

/// Returns task switches by these mechanisms under these loads.
pub fn switch(loads: &[&str], ways: &[&str]) -> Vec<Configuration> {
    let mut all = Vec::new();
    for (w, way) in ways.iter().enumerate() {
        for (l, load) in loads.iter().enumerate() {
            let mut one = bare(
                "switch",
                load,
                all.len() + 1,
                measurand("Task switches", vec![Quantity::time("switch", "Switch")]),
            );
            one.cell.probe.options.insert("by".into(), (*way).into());
            one.label = format!("switch by={way}, {load}");
            one.short = format!("by={way}, {load}");
            let body = 2_900.0 + 1_100.0 * w as f64;
            let values = values((w * 10 + l) as u64, 3_000, body, 0.15, 60_000.0 * l as f64);
            add(&mut one, quantity("switch", "ns", &[], &values, false));
            all.push(one);
        }
    }
    all
}

/// Returns matrix inversions of these sizes, in order, with five kinds of scheduling.
pub fn compute(sizes: &[u32], instances: usize) -> Vec<Configuration> {
    let ways = [
        Scheduling::OTHER,
        Scheduling::Other { nice: -20, by: latido_model::cell::NiceBy::Nice },
        Scheduling::Other { nice: -20, by: latido_model::cell::NiceBy::Setpriority },
        Scheduling::Fifo { prio: 95 },
        Scheduling::Rr { prio: 95 },
    ];
    let time = |name, title| Quantity::time(name, title).each("instance");
    let measured = || {
        measurand("Matrix inversion", vec![time("elapsed", "Compute: elapsed"), time("cpu", "Compute: cpu").beside()])
    };
    let of = |(i, way): (usize, &Scheduling)| {
        let mut one = bare("compute", "idle", i + 1, measured());
        one.cell.scheduling = *way;
        one.label = way.to_string();
        one.short = one.label.clone();
        for (q, name) in ["elapsed", "cpu"].into_iter().enumerate() {
            for size in sizes {
                let body = f64::from(size.pow(3)) * 1.1 + 120.0;
                let giant = if q == 0 && i < 3 { body * 2.0 + 40_000.0 } else { body * 0.1 };
                let seed = u64::from(*size) * 10 + i as u64;
                let values = values(seed, instances, body, if i < 3 { 0.03 } else { 0.012 }, giant);
                add(&mut one, quantity(name, "ns", &[("size", &size.to_string())], &values, true));
            }
        }
        one
    };
    ways.iter().enumerate().map(of).collect()
}

/// Returns a pendulum at 1 kHz for 20 s: it stays upright on a quiet machine, and falls at 12 s on a machine under load.
pub fn pendulum() -> Vec<Configuration> {
    let angle = Quantity::time("angle", "Pendulum: angle").in_unit("urad").beside().up_to(1_047_198);
    let quantities = vec![Quantity::time("lateness", "Pendulum: lateness").periodic(), angle];
    let measured = || measurand("Inverted pendulum", quantities.clone());
    let of = |(i, load): (usize, &str)| {
        let mut one = bare("pendulum", load, i + 1, measured());
        let mut random = ChaCha8Rng::seed_from_u64(i as u64 + 3);
        let fallen = |k: u64| i == 1 && k >= 12_000;
        let mut push = |name: &str, unit: &str, value: &mut dyn FnMut(u64) -> i64| {
            let mut recorder = SampleRecorder::new(None);
            recorder.track(2, 20);
            for k in (0..20_000u64).take_while(|k| !fallen(*k)) {
                let v = value(k);
                recorder.add(v.abs(), k * 1_000_000, 1);
                recorder.tracks[0].samples.push(Point { value: v, at_ns: k * 1_000_000 });
            }
            recorder.tracks[0].facts = [("fell".to_owned(), i as i64)].into();
            if i == 1 {
                recorder.tracks[0].facts.insert("fell_at_ns".into(), 12_000_000_000);
            }
            let mut quantity = recorder.pooled(None);
            (quantity.pooled.quantity, quantity.pooled.unit) = (name.into(), unit.into());
            add(&mut one, quantity);
        };
        let scale = [9_000.0, 60_000.0][i];
        push("angle", "urad", &mut |k| {
            let t = k as f64 / 1_000.0;
            let growth = if i == 1 { (t - 12.0).exp() * 700_000.0 } else { 0.0 };
            ((t * 3.1).sin() * scale + (t * 1.3 + 1.0).sin() * scale * 0.6 + growth) as i64
        });
        let late = [3_500.0, 90_000.0][i];
        push("lateness", "ns", &mut |_| (late * (1.0 + random.random::<f64>().powi(9) * 40.0)) as i64);
        one
    };
    ["none", "cpu-memory"].into_iter().enumerate().map(of).collect()
}

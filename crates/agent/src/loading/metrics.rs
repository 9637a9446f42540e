//! What stress-ng reports at its end with `--metrics --yaml`: operations and seconds of each stressor (stress-ng(1)).

use super::{listening::Paced, rates::round};
use latido_model::record::Rate;
use std::{
    collections::BTreeMap,
    io::{self, Read},
};

/// The most stressors that latido accepts.
const MOST: usize = 64;

/// Operations and time of a stressor, as far as it reported them.
#[derive(Default)]
struct Stressor {
    name: String,
    operations: Option<f64>,
    seconds: Option<f64>,
}

/// Returns the rate of each stressor, as `cpu_bogo_ops` for the stressor `cpu`. The rates of stressors of one name are added up. A stressor
/// with an incomplete report has no rate.
pub fn rates(text: impl Read) -> BTreeMap<String, Rate> {
    let mut all: Vec<Stressor> = Vec::new();
    // An output that cannot be read is treated as ended.
    let _ = Paced::new(text).lines(|line| -> io::Result<()> {
        if all.len() <= MOST {
            read(&String::from_utf8_lossy(line), &mut all);
        }
        Ok(())
    });
    all.truncate(MOST);
    let mut rates: BTreeMap<String, Rate> = BTreeMap::new();
    for Stressor { name, operations, seconds } in all {
        let (Some(operations), Some(seconds)) = (operations, seconds) else { continue };
        let (mean, over_ns) = (round(operations / seconds), (seconds * 1e9) as u64);
        let rate = rates.entry(format!("{name}_bogo_ops")).or_insert(Rate {
            mean: 0.0,
            slowest: None,
            fastest: None,
            over_ns,
            whole_life: true,
        });
        (rate.mean, rate.over_ns) = (rate.mean + mean, rate.over_ns.max(over_ns));
    }
    rates
}

fn read(line: &str, all: &mut Vec<Stressor>) {
    let Some((key, value)) = line.trim().split_once(": ") else { return };
    let value = value.trim().trim_matches(['"', '\'']);
    if key == "- stressor" {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = if value.len() <= 40 && value.chars().all(plain) { value.replace('-', "_") } else { String::new() };
        all.push(Stressor { name, ..Stressor::default() });
        return;
    }
    let Some(stressor) = all.last_mut().filter(|stressor| !stressor.name.is_empty()) else { return };
    let number = || value.parse::<f64>().ok().filter(|number| (0.0..1e18).contains(number));
    match key {
        "bogo-ops" => stressor.operations = number(),
        "wall-clock-time" => stressor.seconds = number().filter(|seconds| (1e-9..1e9).contains(seconds)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_seconds_make_a_rate() {
        // As stress-ng 0.15.06 prints it, shortened; later versions write the numbers with an exponent.
        let text = "---\nsystem-info:\n      stress-ng-version: 0.15.06\n      cpus: 2\n\nmetrics:\n    - stressor: cpu\n\
                    \x20     bogo-ops: 310\n      bogo-ops-per-second-real-time: 41.865072\n      wall-clock-time: 7.75\n\n\
                    \x20   - stressor: vm-rw\n      bogo-ops: 0\n      wall-clock-time: 7.6\n\n\
                    \x20   - stressor: \"cpu\"\n      bogo-ops: 1.2e2\n      wall-clock-time: 6.0e0\n...\n";
        let rates = rates(text.as_bytes());
        assert_eq!(rates.keys().collect::<Vec<_>>(), ["cpu_bogo_ops", "vm_rw_bogo_ops"]);
        assert_eq!((rates["cpu_bogo_ops"].mean, rates["cpu_bogo_ops"].over_ns), (60.0, 7_750_000_000));
        assert_eq!(rates["vm_rw_bogo_ops"].mean, 0.0, "told, and nothing done");
        assert!(rates.values().all(|rate| rate.whole_life && rate.slowest.is_none()));
    }

    #[test]
    fn what_is_not_told_is_absent() {
        for text in [
            "",
            "metrics:\n",
            "- stressor: cpu\nbogo-ops: 5\n",
            "- stressor: cpu\nwall-clock-time: 5\n",
            "- stressor: cpu\nbogo-ops: 5\nwall-clock-time: 0.0\n",
            "- stressor: cpu\nbogo-ops: .nan\nwall-clock-time: 5\n",
            "- stressor: ../x y\nbogo-ops: 5\nwall-clock-time: 5\n",
            "bogo-ops: 5\nwall-clock-time: 5\n",
        ] {
            assert!(rates(text.as_bytes()).is_empty(), "{text}");
        }
    }
}

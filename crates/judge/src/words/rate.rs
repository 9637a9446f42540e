//! A load's rates per second, in words.

use latido_model::record::{LoadRecord, Rate};
use std::collections::BTreeMap;

/// Returns all rates of a load in words, or why there are no rates; empty for a load that does nothing.
pub fn of_load(load: &LoadRecord) -> String {
    match &load.unaccounted {
        Some(why) => format!("{}: {why}", super::NOT_MEASURED),
        None => load.rates.iter().map(|(name, rate)| one(name, *rate)).collect::<Vec<_>>().join(", "),
    }
}

/// Words the loads of all repeats of a configuration: for each name the mean of the means and the slowest of all seconds.
pub fn pooled<'a>(loads: impl IntoIterator<Item = &'a LoadRecord>) -> String {
    let loads: Vec<&LoadRecord> = loads.into_iter().collect();
    let mut names: Vec<&str> = Vec::new();
    for load in &loads {
        if !names.contains(&load.item.name.as_str()) {
            names.push(&load.item.name);
        }
    }
    let of_name = |name: &str| {
        let alike: Vec<&LoadRecord> = loads.iter().copied().filter(|load| load.item.name == name).collect();
        let mut rates: BTreeMap<&str, Vec<Rate>> = BTreeMap::new();
        for (what, rate) in alike.iter().flat_map(|load| &load.rates) {
            rates.entry(what).or_default().push(*rate);
        }
        let pool = |(what, all): (&&str, &Vec<Rate>)| {
            let mean = all.iter().map(|rate| rate.mean).sum::<f64>() / all.len().max(1) as f64;
            let slowest = all.iter().filter_map(|rate| rate.slowest).reduce(f64::min);
            let whole_life = all.iter().any(|rate| rate.whole_life);
            one(what, Rate { mean, slowest, fastest: None, over_ns: 0, whole_life })
        };
        let told: Vec<String> = match (rates.is_empty(), alike.iter().find_map(|load| load.unaccounted.as_ref())) {
            (true, Some(why)) => vec![format!("{}, {why}", super::NOT_MEASURED)],
            _ => rates.iter().map(pool).collect(),
        };
        let missing = alike.iter().filter(|load| load.rates.is_empty()).count();
        let part = match missing {
            0 => String::new(),
            _ if missing == alike.len() => String::new(),
            some => format!("; {some} of {} {}", alike.len(), super::NOT_MEASURED),
        };
        format!("{name}: {}{part}", told.join(", "))
    };
    match names.is_empty() {
        true => "no load".into(),
        false => names.into_iter().map(of_name).collect::<Vec<_>>().join("; "),
    }
}

/// `sent_bytes 12.5 M/s (slowest second 6.2 M/s)`.
fn one(name: &str, rate: Rate) -> String {
    let more = match (rate.whole_life, rate.slowest) {
        (true, _) => " over its whole life".to_string(),
        (false, Some(slowest)) => format!(" (slowest second {})", per_second(slowest)),
        (false, None) => String::new(),
    };
    format!("{name} {}{more}", per_second(rate.mean))
}

/// Writes three digits and a prefix in steps of a thousand: `12.5 M/s`.
pub fn per_second(rate: f64) -> String {
    let (scaled, prefix) = match rate.abs() {
        1e9.. => (rate / 1e9, " G"),
        1e6.. => (rate / 1e6, " M"),
        1e3.. => (rate / 1e3, " k"),
        _ => (rate, " "),
    };
    let digits = match scaled.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    let number = format!("{scaled:.digits$}");
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    format!("{number}{prefix}/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_short() {
        for (rate, text) in [
            (0.0, "0 /s"),
            (0.5, "0.5 /s"),
            (99.96, "100 /s"),
            (1000.0, "1 k/s"),
            (12_512_345.0, "12.5 M/s"),
            (2.1e11, "210 G/s"),
        ] {
            assert_eq!(per_second(rate), text);
        }
    }

    fn load(name: &str, rates: &[(&str, f64)]) -> LoadRecord {
        let rate = |mean| Rate { mean, slowest: Some(mean / 2.0), fastest: None, over_ns: 1, whole_life: false };
        LoadRecord {
            item: latido_model::cell::Item { name: name.into(), ..Default::default() },
            argv: vec![name.into()],
            version: None,
            note: None,
            commands: Vec::new(),
            programs: Vec::new(),
            alive: true,
            died: None,
            cpu_ns: None,
            achieved: BTreeMap::new(),
            rates: rates.iter().map(|(name, mean)| ((*name).to_string(), rate(*mean))).collect(),
            unaccounted: rates.is_empty().then(|| "it is silent".into()),
            ..LoadRecord::default()
        }
    }

    #[test]
    fn repeats_are_pooled_and_what_is_missing_is_told() {
        assert_eq!(pooled(&[]), "no load");
        let loads = [load("disk", &[("syncs", 10.0)]), load("mine", &[]), load("disk", &[("syncs", 20.0)])];
        assert_eq!(pooled(&loads), "disk: syncs 15 /s (slowest second 5 /s); mine: not measured, it is silent");
        let half = [load("disk", &[("syncs", 10.0)]), load("disk", &[])];
        assert_eq!(pooled(&half), "disk: syncs 10 /s (slowest second 5 /s); 1 of 2 not measured");
    }

    #[test]
    fn a_rate_says_what_it_is_of() {
        let rate = Rate { mean: 2000.0, slowest: Some(900.0), fastest: None, over_ns: 1, whole_life: false };
        assert_eq!(one("files", rate), "files 2 k/s (slowest second 900 /s)");
        assert_eq!(one("files", Rate { slowest: None, ..rate }), "files 2 k/s");
        assert_eq!(one("files", Rate { whole_life: true, ..rate }), "files 2 k/s over its whole life");
    }
}

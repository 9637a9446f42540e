//! latido reads a printed plan as the same plan, and answers a damaged plan with an error or a plan.

use super::*;
use latido_model::{cell::Conditions, cpus::CpuSet};
use proptest::prelude::*;

fn probed(item: Item) -> Probed {
    let measurand = Installed.measurand(&item).unwrap();
    Probed { item, measurand }
}

fn levels() -> impl Strategy<Value = Vec<Level>> {
    let id = "[a-z\"'\\\\=#{é\u{7f}-\u{9f}]{1,8}( [a-z]{1,4})?"
        .prop_filter("visible", |id| !id.chars().any(char::is_control));
    prop::collection::hash_set(id, 1..4).prop_map(|ids| ids.into_iter().map(|id| Level { id, items: vec![] }).collect())
}

fn schedulings() -> impl Strategy<Value = Vec<Scheduling>> {
    let one = prop_oneof![
        (1u8..=99).prop_map(|prio| Scheduling::Fifo { prio }),
        (1u8..=99).prop_map(|prio| Scheduling::Rr { prio }),
        ((-20i8..=19), any::<bool>()).prop_map(|(nice, inside)| Scheduling::Other {
            nice,
            by: if inside && nice != 0 { NiceBy::Setpriority } else { NiceBy::Nice }
        }),
        (-20i8..=19).prop_map(|nice| Scheduling::Batch { nice }),
        Just(Scheduling::Idle),
        (1024u64..9999, 0u64..999, 0u64..999).prop_map(|(runtime, slack, more)| Scheduling::Deadline {
            runtime: Ns(runtime),
            deadline: Ns(runtime + slack),
            period: Ns(runtime + slack + more),
        }),
    ];
    prop::collection::vec(one, 1..4).prop_map(|mut levels| {
        let mut distinct: Vec<Scheduling> = Vec::new();
        levels.retain(|level| !distinct.contains(level) && (distinct.push(*level), true).1);
        levels
    })
}

fn groups() -> impl Strategy<Value = Group> {
    let probes = prop::collection::hash_set(prop::option::of(1i64..100_000), 1..4).prop_map(|samples| {
        let item = |samples: Option<i64>| Item {
            name: "null".into(),
            options: samples.map(|samples| ("samples".to_string(), samples.into())).into_iter().collect(),
        };
        samples.into_iter().map(item).map(probed).collect::<Vec<_>>()
    });
    let span = || (1u64..10_000_000_000_000).prop_map(Ns);
    let cpus = prop::collection::btree_set(0u32..64, 1..9).prop_map(CpuSet);
    let traces = prop::option::of(prop::collection::vec("[a-z]{1,9}(:[a-z_]{1,9})?", 0..3));
    let ends = (prop::option::of(span()), prop::option::of(1i32..=200), traces);
    let values = (prop::option::of(cpus), span(), 0u64..99_999, prop::option::of(span()), ends);
    (probes, levels(), levels(), schedulings(), values, 1u32..4, (1usize..3, 1usize..3)).prop_map(
        |(
            probe,
            tuning,
            load,
            scheduling,
            (cpus, duration, warmup, limit, (stop_on, max_temp, trace)),
            repeat,
            (kernels, targets),
        )| {
            Group {
                target: [&["local"][..], &["ssh:root@board"]]
                    .concat()
                    .into_iter()
                    .take(targets)
                    .map(String::from)
                    .collect(),
                kernel: [&["running"][..], &["rt+rcu"]].concat().into_iter().take(kernels).map(String::from).collect(),
                tuning,
                load,
                scheduling,
                probe,
                conditions: Conditions {
                    cpus,
                    duration,
                    warmup: Ns(warmup),
                    limit,
                    stop_on,
                    max_temp,
                    trace,
                    explain: None,
                },
                repeat,
            }
        },
    )
}

fn citations() -> impl Strategy<Value = Citation> {
    let text = || "\\PC{0,20}[a-z]";
    (text(), text(), 1900u16..=9999, prop::option::of(text())).prop_map(|(title, author, year, place)| Citation {
        title,
        author,
        year,
        place,
    })
}

/// Some of the numbers that the first study printed.
fn printed() -> impl Strategy<Value = Published> {
    let systems = prop::sample::subsequence(vec!["stock", "isolated", "rcu", "android"], 0..=4);
    let quantities = prop::sample::subsequence(vec!["mutex_lock", "gap_1e9"], 0..=2);
    (systems, quantities, any::<bool>()).prop_map(|(systems, quantities, narrow)| {
        let taken = Taken { of: Distribution::Plain, options: Default::default() };
        let filter: Filter = if narrow { vec![("cpu".into(), "1".into())] } else { Vec::new() };
        Published {
            study: "scheduling-latency".into(),
            unmeasured: ["setschedprio"].into_iter().filter(|_| narrow).map(String::from).collect(),
            systems: systems.into_iter().map(|name| (name.into(), filter.clone())).collect(),
            taken: quantities.iter().filter(|_| narrow).map(|n| (n.to_string(), taken.clone())).collect(),
            quantities: quantities.into_iter().map(|n| (n.into(), "null.latency".into(), filter.clone())).collect(),
        }
    })
}

fn plans() -> impl Strategy<Value = Plan> {
    let statistic = prop_oneof![
        Just("count".to_string()),
        Just("max".into()),
        Just("late".into()),
        Just("above100us".into()),
        Just("share1us".into()),
        "p[1-9][0-9]?(\\.[0-9]{1,8}[1-9])?",
    ];
    let study = (prop::option::of(citations()), prop::option::of(0.000_001..=1.0), prop::option::of(printed()));
    let than = prop::option::of((0.000_001..1_000_000.0, any::<bool>()));
    let claim = prop::option::of("[a-z\"'\\\\é\n]{0,9}[a-z]");
    let expects = prop::collection::vec((statistic, 0u64..1 << 50, any::<bool>(), than, claim), 0..4);
    (
        "[a-z0-9][a-zA-Z0-9._-]{0,39}",
        prop::option::of("\\PC*[\n\t\u{7f}]?"),
        0..i64::MAX as u64,
        (any::<bool>(), 1u32..4),
        prop::collection::vec(groups(), 1..4),
        expects,
        study,
    )
        .prop_map(|(name, about, seed, (written, boots), groups, expects, study)| {
            let load = groups[0].load[0].id.clone();
            let expect = expects
                .into_iter()
                .map(|(figure, value, filtered, than, claim)| {
                    let statistic = expect::statistic(&figure).unwrap();
                    let number = !figure.starts_with('p') && figure != "max";
                    let value = if figure == "share1us" { value as f64 / (1u64 << 50) as f64 } else { value as f64 };
                    let against = match than.filter(|_| groups[0].load.len() > 1) {
                        Some((times, near)) => {
                            let levels = vec![("load".into(), groups[0].load[1].id.clone())];
                            let (by, margin) = if near { (value, None) } else { (0.0, (times > 1.0).then_some(0.05)) };
                            Against::Than(Than { levels, by, times, margin })
                        }
                        None => Against::Value(value),
                    };
                    let filter = if filtered {
                        vec![("load".into(), load.clone()), ("probe".into(), "null".into())]
                    } else {
                        vec![]
                    };
                    // An expectation that is a sentence of the study has the words of that sentence (`claim`).
                    let of = match (&study.0, &claim) {
                        (None, _) => None,
                        (Some(_), Some(_)) => Some(Sentence::Study("C4".into())),
                        (Some(_), None) => Some(Sentence::Ours),
                    };
                    let mut expect = Expect {
                        claim,
                        of,
                        filter,
                        probe: "null".into(),
                        quantity: "latency".into(),
                        statistic,
                        unit: if number { "" } else { expect::NS }.into(),
                        op: Op::AtMost,
                        against,
                        text: String::new(),
                        line: 0,
                    };
                    expect.text = expect.to_string();
                    expect
                })
                .collect();
            let order = if written { Order::AsWritten } else { Order::Interleaved };
            let (source, scaled, published) = study;
            let sized = scaled.map(|_| "laboratory".to_owned());
            let plan =
                Plan { name, about, source, sized, scaled, seed, order, boots, groups, expect, ..Plan::default() };
            Plan { published, ..plan }
        })
}

/// The text of a good plan after a few random edits.
fn damaged() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0usize..12, "[\\[\\]{}=\",.\\n a-z0-9-]{0,6}|\\PC{0,3}");
    prop::collection::vec(edit, 1..4).prop_map(|edits| {
        let mut text: Vec<char> = GOOD.chars().collect();
        for (at, cut, insert) in edits {
            let at = at.index(text.len());
            let end = (at + cut).min(text.len());
            text.splice(at..end, insert.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    /// latido reads a printed plan as the same plan, with the same cells.
    #[test]
    fn printing_and_reading_agree(plan in plans()) {
        let text = print::plan(&plan);
        let again = parse("printed.toml", &text).map_err(|problem| TestCaseError::fail(format!("{problem}\n{text}")))?;
        prop_assert_eq!(expand(&again), expand(&plan));
        prop_assert_eq!(without_lines(again), plan, "{}", text);
    }

    /// latido refuses junk and never crashes on it.
    #[test]
    fn any_text_is_answered(text: String) {
        prop_assert!(parse("junk", &text).is_err());
    }

    /// latido refuses a damaged plan with a place, or accepts it as a plan that survives printing.
    #[test]
    fn a_damaged_plan_is_answered(text in damaged()) {
        match parse("damaged", &text) {
            Err(problem) => prop_assert!(problem.to_string().starts_with("damaged")),
            Ok(plan) => {
                let again = parse("printed", &print::plan(&plan)).unwrap();
                prop_assert_eq!(without_lines(again), without_lines(plan));
            }
        }
    }
}

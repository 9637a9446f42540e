//! A plan that declares tables and figures, over two synthetic systems of a study and one that was not measured.

use super::of;
use crate::input::Declared;
use latido_judge::configuration::Configuration;
use latido_model::{
    cell::Axis,
    plan::{Figure, Kind, Layout, Over, Pick, Plan, Published, Statistic, Table},
};

/// Returns the study's systems `std` and `rt`.
pub fn measured() -> Vec<Configuration> {
    vec![of("std", &[8_900, 8_900, 17_800], None), of("rt", &[20_000, 45_100], None)]
}

/// Returns a pick with this name.
pub fn pick(name: &str) -> Pick {
    Pick { name: name.into(), ..Pick::default() }
}

/// Returns a pick of the study's system.
pub fn system(name: &str) -> Pick {
    Pick { system: Some(name.into()), ..pick(name) }
}

/// Returns a pick of the study's quantity without load.
pub fn quantity(name: &str) -> Pick {
    Pick { quantity: Some(name.into()), load: Some("none".into()), ..pick(name) }
}

/// Returns a plan with a table of two quantities on three systems.
pub fn plan() -> Plan {
    let level = |name: &str| (name.to_owned(), vec![("load".to_owned(), name.to_owned())]);
    let published = Published {
        study: "interrupt-determinism".into(),
        systems: vec![level("std"), level("rt"), ("xenomai".into(), Vec::new())],
        quantities: vec![("interrupt_latency".into(), "wakeup.latency".into(), Vec::new())],
        unmeasured: vec!["activation_latency".into()],
        ..Published::default()
    };
    let table = Table {
        title: "Latencies".into(),
        number: Some("1".into()),
        printed: vec!["fig3".into(), "fig4".into()],
        rows: vec![quantity("interrupt_latency"), quantity("activation_latency")],
        columns: ["std", "rt", "xenomai"].map(system).into(),
        statistics: vec![Statistic::Mean, Statistic::Max],
        layout: Layout::Together,
        over: Over::Median,
        note: None,
    };
    Plan { published: Some(published), tables: vec![table], ..Plan::default() }
}

/// Returns a figure of one quantity on three systems.
pub fn figure(kind: Kind) -> Figure {
    Figure {
        title: "Latency".into(),
        number: Some("3".into()),
        printed: vec!["fig3".into()],
        kind,
        panels: vec![Pick { name: String::new(), ..quantity("interrupt_latency") }],
        axis: Vec::new(),
        curves: ["std", "rt", "xenomai"].map(system).into(),
        log: false,
        upto: None,
        captions: vec![Statistic::Max],
        over: Over::Median,
        note: None,
    }
}

/// Returns the declarations of a plan as a report receives them.
pub fn declared(plan: &Plan) -> Declared<'_> {
    Declared { plan, levels: vec![(Axis::Load, ["std", "rt", "other"].map(String::from).into())] }
}

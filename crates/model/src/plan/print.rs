//! A plan as TOML: what `--print-plan` shows and what a run stores; reading it gives the same plan.

mod study;

use super::{
    Against, Expect, Filter, Group, Order, Plan, SCHEMA, Sentence, Unjudged,
    around::Around,
    expect::{NS, OPTION, option_of},
    extent::{self, Extent},
    items::nothing,
    kernels,
};
use crate::{
    catalogue::Kind,
    cell::{LOCAL, Level, NiceBy, Scheduling},
    written::{bare, item, quote},
};
use std::fmt::Write;

/// Writes the whole plan, with the time that it takes on a PC.
pub fn plan(plan: &Plan) -> String {
    plan_after(plan, &Around::default())
}

/// Writes the whole plan, with the time that it takes as estimated from earlier cells.
pub fn plan_after(plan: &Plan, earlier: &Around) -> String {
    let mut out = String::new();
    line(&mut out, format_args!("# {}", Extent::of_plan(plan, earlier).sentence()));
    for (reason, cells) in extent::skipped(plan) {
        line(&mut out, format_args!("# skipped, {}: {reason}", extent::many(cells)));
    }
    line(&mut out, format_args!("schema = {SCHEMA}"));
    line(&mut out, format_args!("name = {}", quote(&plan.name)));
    if let Some(about) = &plan.about {
        line(&mut out, format_args!("about = {}", quote(about)));
    }
    if let Some(sized) = &plan.sized {
        line(&mut out, format_args!("sized = {}", quote(sized)));
    }
    if let Some(scaled) = plan.scaled {
        line(&mut out, format_args!("scaled = {scaled}"));
    }
    line(&mut out, format_args!("seed = {}", plan.seed));
    let order = match plan.order {
        Order::Interleaved => "interleaved",
        Order::AsWritten => "as-written",
    };
    line(&mut out, format_args!("order = \"{order}\""));
    if plan.boots != 1 {
        line(&mut out, format_args!("boots = {}", plan.boots));
    }
    if let Some(name) = &plan.kernel_as {
        line(&mut out, format_args!("kernel_as = {}", quote(name)));
    }
    if let Some(source) = &plan.source {
        study::citation(&mut out, source);
    }
    for one in &plan.groups {
        group(&mut out, one);
    }
    for one in &plan.kernels {
        kernel(&mut out, one);
    }
    for one in &plan.expect {
        expect(&mut out, one);
    }
    for Unjudged { conclusion, claim, why } in &plan.unjudged {
        line(&mut out, format_args!("\n[[unjudged]]\nconclusion = {}", quote(conclusion)));
        line(&mut out, format_args!("claim = {}\nwhy = {}", quote(claim), quote(why)));
    }
    if let Some(printed) = &plan.published {
        study::published(&mut out, printed);
    }
    plan.tables.iter().for_each(|one| study::declared_table(&mut out, one));
    plan.figures.iter().for_each(|one| study::figure(&mut out, one));
    out
}

fn group(out: &mut String, group: &Group) {
    line(out, format_args!("\n[[group]]"));
    axis(out, "probe", group.probe.iter().map(|probe| item(&probe.item)));
    axis(out, "load", group.load.iter().map(|one| level(one, Kind::Load)));
    axis(out, "tuning", group.tuning.iter().map(|one| level(one, Kind::Tuning)));
    if !group.looks_on() {
        axis(out, "scheduling", group.scheduling.iter().map(|one| scheduling(*one)));
    }
    if group.target != [LOCAL] {
        axis(out, "target", group.target.iter().map(|one| quote(one)));
    }
    axis(out, "kernel", group.kernel.iter().map(|one| quote(one)));
    if let Some(cpus) = &group.conditions.cpus {
        line(out, format_args!("cpus = \"{cpus}\""));
    }
    line(out, format_args!("duration = \"{}\"", group.conditions.duration));
    line(out, format_args!("warmup = \"{}\"", group.conditions.warmup));
    if let Some(limit) = group.conditions.limit {
        line(out, format_args!("limit = \"{limit}\""));
    }
    if let Some(stop_on) = group.conditions.stop_on {
        line(out, format_args!("stop_on = \"{stop_on}\""));
    }
    if let Some(degrees) = group.conditions.max_temp {
        line(out, format_args!("max_temp = {degrees}"));
    }
    match group.conditions.trace.as_deref() {
        None => {}
        Some([]) => line(out, format_args!("trace = true")),
        Some(events) => {
            let events: Vec<String> = events.iter().map(|event| quote(event)).collect();
            line(out, format_args!("trace = [{}]", events.join(", ")));
        }
    }
    if let Some(worst) = group.conditions.explain {
        line(out, format_args!("explain = {worst}"));
    }
    line(out, format_args!("repeat = {}", group.repeat));
}

fn kernel(out: &mut String, one: &kernels::Named) {
    line(out, format_args!("\n[[kernel]]\nname = {}", quote(&one.name)));
    if !one.preemption.is_empty() {
        axis(out, "preemption", one.preemption.iter().filter_map(|model| kernels::word(*model)).map(quote));
    }
    if !one.boot.is_empty() {
        axis(out, "boot", one.boot.iter().map(|word| quote(word)));
    }
    if !one.options.is_empty() {
        let options: Vec<String> = one.options.iter().map(|(key, set)| format!("{} = {set}", bare(key))).collect();
        line(out, format_args!("options = {{ {} }}", options.join(", ")));
    }
}

fn expect(out: &mut String, expect: &Expect) {
    line(out, format_args!("\n[[expect]]"));
    if let Some(claim) = &expect.claim {
        line(out, format_args!("claim = {}", quote(claim)));
    }
    match &expect.of {
        Some(Sentence::Study(number)) => line(out, format_args!("of = \"study\"\nconclusion = {}", quote(number))),
        Some(Sentence::Ours) => line(out, format_args!("of = \"ours\"")),
        None => {}
    }
    table(out, "where", &expect.filter);
    line(out, format_args!("metric = {}", quote(&expect.metric())));
    line(out, format_args!("op = \"{}\"", expect.op));
    let amount = |amount: f64| match expect.unit.as_str() {
        NS => quote(&expect.amount(amount)),
        _ => expect.amount(amount),
    };
    match &expect.against {
        Against::Value(value) => line(out, format_args!("value = {}", amount(*value))),
        Against::Than(than) => {
            table(out, "than", &than.levels);
            if than.by != 0.0 {
                line(out, format_args!("by = {}", amount(than.by)));
            }
            if than.times != 1.0 {
                line(out, format_args!("times = {}", than.times));
            }
            if let Some(margin) = than.margin {
                line(out, format_args!("margin = {margin}"));
            }
        }
    }
}

/// Writes `where = { load = "ramp" }`; writes nothing for an empty filter.
fn table(out: &mut String, key: &str, filter: &Filter) {
    if filter.is_empty() {
        return;
    }
    let named = |key: &str| option_of(key).map_or_else(|| bare(key), |option| format!("{OPTION}.{}", bare(option)));
    let pairs: Vec<String> = filter.iter().map(|(key, level)| format!("{} = {}", named(key), quote(level))).collect();
    line(out, format_args!("{key} = {{ {} }}", pairs.join(", ")));
}

fn axis(out: &mut String, key: &str, levels: impl Iterator<Item = String>) {
    let levels: Vec<String> = levels.collect();
    let one_line = format!("{key} = [{}]", levels.join(", "));
    if one_line.chars().count() <= 100 {
        return line(out, format_args!("{one_line}"));
    }
    line(out, format_args!("{key} = [\n  {},\n]", levels.join(",\n  ")));
}

fn level(level: &Level, kind: Kind) -> String {
    let id = level.id.as_str();
    match level.items.as_slice() {
        [] if id == nothing(kind) => quote(id),
        [only] if only.options.is_empty() && only.name == id && id != nothing(kind) => quote(id),
        items => {
            let items: Vec<String> = items.iter().map(item).collect();
            format!("{{ id = {}, use = [{}] }}", quote(id), items.join(", "))
        }
    }
}

/// `{ policy = "fifo", prio = 80 }`
pub fn scheduling(scheduling: Scheduling) -> String {
    match scheduling {
        Scheduling::Other { nice: 0, .. } => "{ policy = \"other\" }".into(),
        Scheduling::Other { nice, by: NiceBy::Nice } => format!("{{ policy = \"other\", nice = {nice} }}"),
        Scheduling::Other { nice, by: NiceBy::Setpriority } => {
            format!("{{ policy = \"other\", nice = {nice}, by = \"setpriority\" }}")
        }
        Scheduling::Batch { nice: 0 } => "{ policy = \"batch\" }".into(),
        Scheduling::Batch { nice } => format!("{{ policy = \"batch\", nice = {nice} }}"),
        Scheduling::Idle => "{ policy = \"idle\" }".into(),
        Scheduling::Unknown => "{ policy = \"unknown\" }".into(),
        Scheduling::Own => "{ policy = \"own\" }".into(),
        Scheduling::Fifo { prio } => format!("{{ policy = \"fifo\", prio = {prio} }}"),
        Scheduling::Rr { prio } => format!("{{ policy = \"rr\", prio = {prio} }}"),
        Scheduling::Evl { prio } => format!("{{ policy = \"evl\", prio = {prio} }}"),
        Scheduling::Cobalt { prio } => format!("{{ policy = \"cobalt\", prio = {prio} }}"),
        Scheduling::Deadline { runtime, deadline, period } => format!(
            "{{ policy = \"deadline\", runtime = \"{runtime}\", deadline = \"{deadline}\", period = \"{period}\" }}"
        ),
    }
}

fn line(out: &mut String, text: std::fmt::Arguments) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

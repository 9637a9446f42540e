//! The kernel's tracing, in tracefs (Documentation/trace/ftrace.rst): whether a trace is being recorded, and where to switch it off. latido
//! reads here nothing that interrupts a CPU.

use super::Root;
use latido_model::record::{Tracer, Tracing};
use std::io::ErrorKind;

/// Where tracefs is mounted: its usual place, or that of kernels before 4.1.
pub const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The most instances that latido examines.
const MOST: usize = 64;

/// A trace that can be switched: the kernel's own, or an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The instance's name; empty for the kernel's own.
    pub instance: String,
    /// Its directory.
    pub dir: String,
    /// Whether it records.
    pub on: bool,
}

/// Lists every trace, the kernel's own first.
///
/// # Errors
/// Why the traces are not visible, with the remedy.
pub fn traces(root: &Root) -> Result<Vec<Trace>, String> {
    let mut refused = None;
    for place in PLACES {
        match root.try_read(&format!("{place}/tracing_on")) {
            Ok(on) => {
                let mut all = vec![Trace { instance: String::new(), dir: place.into(), on: on == "1" }];
                for instance in root.list(&format!("{place}/instances")).into_iter().take(MOST) {
                    let dir = format!("{place}/instances/{instance}");
                    let on = root.flag(&format!("{dir}/tracing_on")) == Some(true);
                    all.push(Trace { instance, dir, on });
                }
                return Ok(all);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => refused = refused.or(Some(format!("{place}/tracing_on: {error}"))),
        }
    }
    Err(refused.unwrap_or_else(|| "tracefs is not mounted (mount -t tracefs tracefs /sys/kernel/tracing)".into()))
}

/// Returns what traces at this moment: traces that are on and have a tracer or events. The kernel's own trace is on from boot, but empty.
pub fn seen(root: &Root) -> Tracing {
    let traces = match traces(root) {
        Ok(traces) => traces,
        Err(why) => return Tracing::Unseen { why },
    };
    let active = traces.into_iter().filter(|trace| trace.on).filter_map(|Trace { instance, dir, .. }| {
        let tracer = root.read(&format!("{dir}/current_tracer")).unwrap_or_default();
        // 0 means none, 1 all, X some.
        let events = root.read(&format!("{dir}/events/enable")).is_some_and(|enabled| enabled != "0");
        (events || !matches!(tracer.as_str(), "" | "nop")).then_some(Tracer { instance, tracer, events })
    });
    Tracing::Seen { active: active.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Makes a trace in a tree of plain files.
    fn plant(root: &Root, dir: &str, on: &str, tracer: &str, events: &str) {
        fs::create_dir_all(root.path(&format!("{dir}/events"))).unwrap();
        for (name, value) in [("tracing_on", on), ("current_tracer", tracer), ("events/enable", events)] {
            fs::write(root.path(&format!("{dir}/{name}")), format!("{value}\n")).unwrap();
        }
    }

    fn active(root: &Root) -> Vec<(String, String, bool)> {
        let Tracing::Seen { active } = seen(root) else { panic!("{:?}", seen(root)) };
        active.into_iter().map(|tracer| (tracer.instance, tracer.tracer, tracer.events)).collect()
    }

    #[test]
    fn what_is_on_and_traces_is_seen_instance_by_instance() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        plant(&root, PLACES[0], "1", "nop", "0");
        assert_eq!(active(&root), [], "the kernel's own is on from the boot, and empty");
        plant(&root, PLACES[0], "1", "function", "0");
        plant(&root, "/sys/kernel/tracing/instances/mine", "1", "nop", "X");
        plant(&root, "/sys/kernel/tracing/instances/other", "0", "function", "1");
        let both = [("".into(), "function".into(), false), ("mine".into(), "nop".into(), true)];
        assert_eq!(active(&root), both);
        plant(&root, PLACES[0], "0", "function", "1");
        assert_eq!(active(&root), both[1..], "switched off it writes nothing");
    }

    #[test]
    fn what_cannot_be_seen_is_not_none() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let Tracing::Unseen { why } = seen(&root) else { panic!() };
        assert!(why.contains("mount -t tracefs"), "{why}");
        plant(&root, PLACES[1], "1", "irqsoff", "0");
        assert_eq!(active(&root), [("".into(), "irqsoff".into(), false)], "the place of older kernels");
    }

    #[test]
    fn two_looks_are_one_answer() {
        let seen = |names: &[&str]| Tracing::Seen {
            active: names
                .iter()
                .map(|name| Tracer { instance: (*name).into(), tracer: "function".into(), events: false })
                .collect(),
        };
        let unseen = || Tracing::Unseen { why: "x".into() };
        assert_eq!(seen(&["a"]).and(seen(&["b", "a"])), seen(&["a", "b"]));
        assert_eq!((unseen().and(seen(&["a"])), seen(&["a"]).and(unseen())), (seen(&["a"]), seen(&["a"])));
        assert_eq!(unseen().and(unseen()), unseen());
    }
}

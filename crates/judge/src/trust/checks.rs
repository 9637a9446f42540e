//! The functions of the trust checks: each turns a record's evidence into a severity and a sentence. The table is in `trust`.

use crate::{
    deciding::Deciding,
    finding::Grade::{self, Invalid, Note, Ok, Unknown},
    span::{Span, many, spans},
    words,
};
use latido_model::{
    cell::Scheduling,
    cpus::CpuSet,
    machine::FairServer,
    record::{Outcome, Record, STRANGERS, ThreadEvidence, WallSteps},
};

/// A severity and a short sentence with the number.
pub(super) type Graded = (Grade, Vec<Span>);

pub(super) fn ok(text: impl Into<Span>) -> Graded {
    (Ok, vec![text.into()])
}

pub(super) fn note_if(bad: bool, state: Vec<Span>) -> Graded {
    (if bad { Note } else { Ok }, state)
}

/// Whether the kernel's data on the measuring threads are missing, as they are until the loops end.
fn no_threads(record: &Record) -> bool {
    record.quality.threads.is_empty()
}

pub(super) fn unknown() -> Graded {
    (Unknown, spans!["not measured"])
}

pub(super) fn policy(record: &Record, _: &Deciding) -> Graded {
    if !record.quality.watched.is_empty() {
        return super::watched::policies(&record.quality.watched);
    }
    let asked = record.cell.scheduling;
    match &record.quality.policy_refused {
        // The text after this is the remedy: the record and the banner already give it.
        Some(why) => (Invalid, spans![why.split("; ").next().unwrap_or(why)]),
        // A checkpoint has no reports of the threads: a refusal would be known, but nothing proves a grant.
        None if no_threads(record) => unknown(),
        None if asked == Scheduling::Own => ok("none: the probe requests no policy"),
        // The kernel reports the policy of each thread: the requested policy may not be the running one.
        None if asked.is_realtime() => {
            let real = |thread: &ThreadEvidence| thread.policy != "other" && !thread.policy.starts_with("other ");
            match record.quality.threads.iter().all(real) {
                true => (Ok, [spans![format!("{asked} granted")], time_slice(record)].concat()),
                false => ok("none: the probe requests no policy"),
            }
        }
        None => {
            let held = record.quality.held_back.filter(|held| held.times > 0);
            let quota = held.map(|held| format!("; {}", super::watched::quota(held, "latido's control group")));
            (Note, spans![format!("`{asked}`, as requested: any task may delay it"), quota.unwrap_or_default()])
        }
    }
}

/// Returns `, a time slice of 100 ms` for round robin.
fn time_slice(record: &Record) -> Vec<Span> {
    let slice = record.quality.threads.iter().find_map(|thread| thread.rr_slice_ns);
    slice.map(|slice| spans![", a time slice of ", Span::time(slice)]).unwrap_or_default()
}

pub(super) fn load(record: &Record, _: &Deciding) -> Graded {
    let dead: Vec<String> = record
        .load
        .iter()
        .filter(|load| !load.alive)
        .map(|load| {
            let how = load.died.as_deref().map(|how| format!(" ({how})")).unwrap_or_default();
            format!("the load `{}` ended before the measurement did{how}", load.item.name)
        })
        .collect();
    if !dead.is_empty() {
        return (Invalid, spans![dead.join(", ")]);
    }
    let strange = record.load.iter().filter_map(|load| {
        let count = load.achieved.get(STRANGERS).filter(|count| **count > 0)?;
        Some(format!(
            "{} from unknown senders reached the load `{}`; it did not count them",
            words::many(count.unsigned_abs(), "packet"),
            load.item.name
        ))
    });
    let notes = record.load.iter().filter_map(|load| load.note.clone());
    let notes: Vec<String> = notes.chain(strange).collect();
    match record.load.len() {
        0 => ok("none"),
        _ if !notes.is_empty() => (Note, spans![notes.join(", ")]),
        _ => ok("alive throughout"),
    }
}

pub(super) fn tunings(record: &Record, _: &Deciding) -> Graded {
    let loose: Vec<&str> =
        record.tunings.iter().filter(|t| !t.in_force).map(|tuning| tuning.item.name.as_str()).collect();
    if !loose.is_empty() {
        return (Invalid, spans![format!("not in force: {}", loose.join(", "))]);
    }
    let notes = record.tunings.iter().filter_map(|tuning| tuning.note.as_deref()).flat_map(|note| note.split("; "));
    let notes: Vec<String> = notes.map(brief).collect();
    note_if(!notes.is_empty(), if notes.is_empty() { spans!["in force"] } else { spans![notes.join("; ")] })
}

/// Cuts a remark with dozens of names after the first ones: the record and the report's settings have all of them.
fn brief(note: &str) -> String {
    const LONG: usize = 100;
    match note.char_indices().nth(LONG).map(|(end, _)| note.split_at(end).0) {
        None => note.to_owned(),
        Some(start) => format!("{} ...", start.rsplit_once(' ').map_or(start, |(words, _)| words)),
    }
}

pub(super) fn pinning(record: &Record, _: &Deciding) -> Graded {
    let pinned: Vec<_> = record.quality.threads.iter().filter(|thread| thread.cpu.is_some()).collect();
    let moved = pinned.iter().filter_map(|thread| Some((thread.migrations?, thread.cpu?))).max();
    match moved {
        _ if no_threads(record) => unknown(),
        _ if pinned.is_empty() => ok("threads free to move"),
        Some((times, cpu)) if times > 0 => {
            let cpu = Span::Where(format!("CPU {cpu}"));
            (Invalid, [spans!["the thread of ", cpu, " left it "], count(times, "time")].concat())
        }
        Some(_) if pinned.iter().all(|thread| thread.migrations.is_some()) => ok("each thread stayed on its CPU"),
        _ => unknown(),
    }
}

pub(super) fn clock(record: &Record, _: &Deciding) -> Graded {
    let clock = &record.quality.clock;
    let negative: u64 =
        record.series.iter().filter(|s| s.unit == "ns").map(|s| s.negative).fold(0, u64::saturating_add);
    if clock.backwards > 0 {
        return (Invalid, [spans![clock.name.as_str(), " ran backwards "], count(clock.backwards, "time")].concat());
    }
    // Samples from a program may be below zero: they are no differences of latido's clock. A core sets its timers early (gravity).
    let is_early = record.quality.core.as_ref().is_some_and(|core| core.gravity_ns != Some(0));
    if negative > 0 && record.quality.reported.is_none() && !is_early {
        let are = if negative == 1 { " is below zero" } else { " are below zero" };
        return (Invalid, [count(negative, "sample"), spans![" of ", clock.name.as_str(), are]].concat());
    }
    let source = clock.source.as_deref().map(|source| format!(" ({source})")).unwrap_or_default();
    match clock.drift_ppb {
        Some(drift) if drift.abs() > 100_000.0 => {
            let drift = Span::whole(drift / 1000.0, "ppm");
            (Invalid, spans![clock.name.as_str(), " drifts by ", drift, " against CLOCK_MONOTONIC"])
        }
        _ => {
            let (cost, step) = (Span::whole(clock.cost_ns, "ns"), Span::whole(clock.step_ns, "ns"));
            (Ok, spans![format!("{}{source}, ", clock.name), cost, " per reading, step ", step])
        }
    }
}

/// How far slewing may move a clock per second (500 ppm, adjtimex(2)), ns, and the least movement that latido reports.
const SLEWED_NS: u64 = 500_000;
const MOVED_NS: u64 = 1_000_000;

/// Checks for steps of CLOCK_REALTIME: if the samples use CLOCK_REALTIME or CLOCK_TAI, they contain the step and are invalid.
pub(super) fn wall_clock(record: &Record, _: &Deciding) -> Graded {
    let quality = &record.quality;
    let shift = quality.clock.realtime_shift_ns;
    let is_own = matches!(quality.clock.name.as_str(), "realtime" | "tai");
    let seconds = record.elapsed_ns.div_ceil(1_000_000_000);
    let stepped = match quality.wall_steps {
        Some(steps) => steps.times > 0,
        // Older records only have the difference from start to end.
        None => shift.unsigned_abs() > SLEWED_NS.saturating_mul(seconds).max(MOVED_NS),
    };
    let state = match quality.wall_steps.filter(|steps| steps.times > 0) {
        Some(WallSteps { times, largest_ns }) => {
            let most = spans![", most by ", Span::Time(largest_ns), "; ", Span::Time(shift), " from start to end"];
            [spans!["CLOCK_REALTIME stepped "], count(times, "time"), most].concat()
        }
        None => spans!["CLOCK_REALTIME moved by ", Span::Time(shift)],
    };
    if stepped && is_own {
        return (Invalid, [state, spans![", and the samples use this clock"]].concat());
    }
    note_if(stepped || shift.unsigned_abs() > MOVED_NS, state)
}

/// Checks whether something stopped the measuring process: such time is not the machine's.
pub(super) fn stopped(record: &Record, _: &Deciding) -> Graded {
    let Some(stopped) = &record.quality.stopped else { return ok("never") };
    // latido checks ten times per second: a stop between two checks was shorter than the time between them.
    let together = match stopped.times {
        1 => spans![" for at most ", Span::time(stopped.total_ns)],
        _ => spans![
            " for at most ",
            Span::time(stopped.longest_ns),
            " each and ",
            Span::time(stopped.total_ns),
            " together"
        ],
    };
    let by = format!(" by {}", stopped.how);
    let least = if stopped.how.contains("freezer") { "at least " } else { "" };
    (
        Invalid,
        [spans!["the measuring process was stopped ", least], count(stopped.times, "time"), spans![by], together]
            .concat(),
    )
}

pub(super) fn outcome(record: &Record, _: &Deciding) -> Graded {
    let measured = Span::time(record.elapsed_ns);
    match &record.outcome {
        Outcome::Complete => (Ok, spans!["complete, ", measured]),
        Outcome::Interrupted => (Note, spans!["interrupted after ", measured]),
        Outcome::Checkpoint => (Note, spans!["a checkpoint after ", measured, ": the cell was never finished"]),
        Outcome::Stopped { value_ns, at_ns, .. } => {
            let after = at_ns.map(|at_ns| spans![" after ", Span::time(at_ns)]).unwrap_or_default();
            (Note, [spans!["stopped on a sample of ", Span::Time(*value_ns)], after].concat())
        }
    }
}

pub(super) fn memory(record: &Record, _: &Deciding) -> Graded {
    match &record.quality.memory_unlocked {
        Some(why) => (Note, spans!["not locked: ", why.as_str()]),
        None => ok("locked"),
    }
}

pub(super) fn faults(record: &Record, _: &Deciding) -> Graded {
    if no_threads(record) {
        return unknown();
    }
    let (minor, major) =
        record.quality.threads.iter().fold((0, 0), |(a, b), t| (a + t.minor_faults, b + t.major_faults));
    let mut text = spans![Span::Count(minor), " minor, ", Span::Count(major), " major while measuring"];
    if let Some(moved) = record.quality.moved_pages.filter(|moved| *moved > 0 && minor > 0) {
        text.extend(spans!["; the kernel moved or tried to move "]);
        text.extend(count(moved, "page"));
        text.extend(spans![" of any program meanwhile"]);
        if record.machine.memory.moves_locked != Some(false) {
            text.extend(spans![" and may move locked ones (--tune compaction stops that)"]);
        }
    }
    note_if(minor + major > 0, text)
}

pub(super) fn preemptions(record: &Record, _: &Deciding) -> Graded {
    if no_threads(record) {
        return unknown();
    }
    // A helper has a lower priority than the measured thread: its preemption is part of the measurement.
    let measuring = || record.quality.threads.iter().filter(|thread| !thread.helper);
    let switches: u64 = measuring().map(|t| t.involuntary_switches).fold(0, u64::saturating_add);
    // A program's threads have the policies that they set themselves.
    let own = |thread: &ThreadEvidence| ["fifo", "rr", "deadline"].iter().any(|real| thread.policy.starts_with(real));
    let realtime = match record.quality.reported {
        Some(_) => measuring().any(own),
        None => record.cell.scheduling.is_realtime(),
    };
    note_if(switches > 0 && realtime, count(switches, "involuntary switch"))
}

pub(super) fn throttle_settings(record: &Record, _: &Deciding) -> Graded {
    let throttle = &record.quality.throttle;
    let (Some(runtime), Some(period)) = (throttle.rt_runtime_us, throttle.rt_period_us) else { return unknown() };
    let machine = &record.machine;
    let limited = runtime >= 0 && runtime < period;
    let enforced = limited && machine.realtime.throttles(&machine.kernel) != Some(false);
    // Without throttling the kernel does not enforce a group's budget either.
    let group = machine.realtime.group_budget.as_ref().filter(|group| limited && group.runtime_us < runtime);
    let of_group = group.map(|group| format!(", {} µs of each period for latido's control group", group.runtime_us));
    let budget = match limited {
        true => spans![format!("{runtime} of "), Span::exact(period as f64, "µs"), of_group.unwrap_or_default()],
        false => spans!["unlimited"],
    };
    let idle = if limited && !enforced { " (which this kernel does not enforce)" } else { "" };
    // The fair server matters only on the measured CPUs, so the code compares its budgets there instead of texts.
    let server = &machine.realtime.fair_server;
    let nowhere = CpuSet::default();
    let (by_server, said) = match server.touches(record.cell.conditions.cpus.as_ref().unwrap_or(&nowhere)) {
        Some(true) => (Note, server.to_string()),
        None => (Unknown, server.to_string()),
        Some(false) if *server == FairServer::Absent => (Ok, "none".into()),
        Some(false) if server.is_active() == Some(false) => (Ok, "off".into()),
        Some(false) => (Ok, format!("{server}, none of them measured")),
    };
    let state = [spans!["real-time budget "], budget, spans![idle, ", fair server ", said]].concat();
    // The server takes nothing from time-sharing tasks: it exists for them.
    let by_server = if record.cell.scheduling.shares_time() { Ok } else { by_server };
    (by_server.max(if enforced { Note } else { Ok }), state)
}

pub(super) fn idle_states(record: &Record, _: &Deciding) -> Graded {
    match record.quality.dma_latency_held {
        true => ok("disabled through /dev/cpu_dma_latency"),
        false => (Note, spans!["not disabled: wake-ups may wait for the processor to leave them"]),
    }
}

pub(super) fn frequency(record: &Record, _: &Deciding) -> Graded {
    let Some((low, high)) = record.quality.frequency_khz else { return unknown() };
    note_if(low * 100 < high * 95, spans![format!("{} to ", low / 1000), Span::exact((high / 1000) as f64, "MHz")])
}

pub(super) fn temperature(record: &Record, _: &Deciding) -> Graded {
    if let Some(hot) = record.quality.overheated {
        let (degrees, limit) = (hot.temperature_mc as f64 / 1e3, hot.limit_mc as f64 / 1e3);
        let when = u64::try_from(hot.at_ns);
        let when = when.map_or_else(|_| spans![" in the warm-up"], |at| spans![" after ", Span::time(at)]);
        let above = format!(", above the limit of {limit}; latido ended the loads and the measurement");
        return (Note, [spans![Span::exact(degrees, "degrees")], when, spans![above]].concat());
    }
    let Some((highest, critical)) = record.quality.temperature_mc else { return unknown() };
    let near = critical.is_some_and(|critical| highest > critical - 10_000);
    let of = critical.map(|critical| format!(", critical at {}", critical / 1000)).unwrap_or_default();
    note_if(near, spans!["at most ", Span::exact((highest / 1000) as f64, "degrees"), of])
}

pub(super) fn timer_slack(record: &Record, _: &Deciding) -> Graded {
    if !record.cell.scheduling.shares_time() {
        return ok("none with real-time policy");
    }
    let Some(slack) = record.quality.timer_slack_ns else { return unknown() };
    note_if(slack > 1, spans![Span::time(slack), " are part of every wake-up"])
}

pub(super) fn autogroup(record: &Record, _: &Deciding) -> Graded {
    match record.quality.autogroup {
        None => unknown(),
        Some(true) if record.cell.scheduling.shares_time() => {
            (Note, spans!["on: the session decides the share of the CPU"])
        }
        Some(on) => ok(if on { "on, without effect on real-time policy" } else { "off" }),
    }
}

pub(super) fn hypervisor(record: &Record, _: &Deciding) -> Graded {
    if let Some(about) = &record.machine.emulated {
        return match about.instruction_ns {
            Some(_) => ok(format!("{}: the host's time is not in it", about.time())),
            None => (Invalid, spans![format!("{}: the latencies of such a guest are not real", about.time())]),
        };
    }
    match record.machine.rows().into_iter().find(|(name, _)| *name == "hypervisor") {
        None => unknown(),
        Some((_, value)) if value == "unknown" => unknown(),
        Some((_, value)) if value == "none" => ok("none"),
        Some((_, value)) => (Note, spans![format!("{value}: the host adds its own latencies")]),
    }
}

pub(super) fn housekeeping(record: &Record, _: &Deciding) -> Graded {
    match &record.quality.housekeeping {
        Some(cpus) => ok(format!("left for everything else: {cpus}")),
        None => (Note, spans!["every CPU is measured: latido itself runs on them too"]),
    }
}

/// Returns `1 task`, `3 tasks`, `2 involuntary switches`.
pub(super) fn count(n: u64, noun: &str) -> Vec<Span> {
    many(n, noun)
}

#[cfg(test)]
mod tests {
    use super::super::tests::finding;
    use crate::finding::Grade::{Invalid, Note, Ok, Unknown};
    use latido_model::{
        machine::{Emulated, Layer},
        sample,
    };

    /// A hypervisor gives a note. An emulated machine measures no latency unless its clock counts instructions.
    #[test]
    fn who_runs_the_machine_decides_what_a_latency_is_worth() {
        let below = |layer: Option<Layer>| finding("hypervisor", |r| r.machine.hypervisor = layer.clone());
        let kvm = below(Some(Layer::Present("KVM".into())));
        assert_eq!((kvm.grade, kvm.text().as_str()), (Note, "KVM: the host adds its own latencies"));
        assert_eq!((below(Some(Layer::Absent)).grade, below(None).grade), (Ok, Unknown));
        let emulated = |instruction_ns| {
            let about = Emulated { instruction_ns, ..sample::emulated() };
            finding("hypervisor", |r| {
                r.machine.hypervisor = Some(Layer::Present("QEMU".into()));
                r.machine.emulated = Some(about.clone());
            })
        };
        assert_eq!(emulated(Some(8)).grade, Ok);
        let with_host_time = emulated(None);
        assert_eq!(with_host_time.grade, Invalid);
        assert!(
            with_host_time.text().ends_with("the latencies of such a guest are not real"),
            "{}",
            with_host_time.text()
        );
    }
}

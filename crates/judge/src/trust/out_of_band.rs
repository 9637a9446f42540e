//! The trust check of threads that a real-time core beside the kernel schedules. A thread that leaves the core gives the same latencies as
//! one that stays, so only the core's counts show it.

use super::checks::Graded;
use crate::{
    deciding::Deciding,
    finding::Grade::{Invalid, Ok},
    span::spans,
    words,
};
use latido_model::record::{CoreCounts, CoreRecord, Record, ThreadEvidence};

/// Checks that each thread was out of band from the first to the last sample. Without the core's counts this is not known, and then the
/// cell does not pass either.
pub(super) fn core(record: &Record, _: &Deciding) -> Graded {
    let quality = &record.quality;
    let counted: Option<Vec<(&ThreadEvidence, CoreCounts)>> =
        quality.threads.iter().filter(|thread| !thread.helper).map(|thread| Some((thread, thread.core?))).collect();
    let (Some(core), Some(counted)) = (&quality.core, counted.filter(|all| !all.is_empty())) else {
        return (
            Invalid,
            spans!["the core's counts are missing, so latido does not know whether it scheduled the threads"],
        );
    };
    let mut faults: Vec<String> = counted.iter().filter_map(|(thread, counts)| left(thread, counts)).collect();
    faults.extend(signals(core));
    let name = format!("{} (ABI {})", core.kind.name(), core.abi);
    if !faults.is_empty() {
        return (Invalid, spans![format!("{name}: {}", faults.join("; "))]);
    }
    let switches = counted.iter().map(|(_, counts)| counts.context_switches).fold(0, u64::saturating_add);
    let gravity = match core.gravity_ns {
        Some(0) => ", gravity 0".to_owned(),
        Some(ns) => format!(", gravity {}: a sample is that much too small", words::value(ns as f64, "ns")),
        None => ", gravity unknown".to_owned(),
    };
    let switches = words::many(switches, "context switch");
    (Ok, spans![format!("{name}: out of band throughout, {switches}{gravity}")])
}

/// Says how a thread left the core; `None` if it stayed.
fn left(thread: &ThreadEvidence, counts: &CoreCounts) -> Option<String> {
    let who = thread.cpu.map_or_else(|| format!("thread {}", thread.thread), |cpu| format!("the thread of CPU {cpu}"));
    let in_band = match (counts.out_of_band_before, counts.out_of_band_after) {
        (true, true) => None,
        (false, _) => Some("was in-band before the first sample".to_owned()),
        (true, false) => Some("was in-band after the last sample".to_owned()),
    };
    let switched =
        (counts.switches > 0).then(|| format!("switched to in-band {}", words::many(counts.switches, "time")));
    let faults = counts.faults.filter(|faults| *faults > 0);
    let faulted = faults.map(|faults| format!("had {}", words::many(faults, "fault")));
    let all: Vec<String> = [in_band, switched, faulted].into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("{who} {}", all.join(", ")))
}

/// Lists the signals of the core.
fn signals(core: &CoreRecord) -> Option<String> {
    let each = core.debug.iter().map(|(cause, count)| format!("{} ({cause})", words::count(*count)));
    let all = each.collect::<Vec<_>>().join(", ");
    (!all.is_empty()).then(|| format!("SIGDEBUG: {all}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::finding;
    use super::*;
    use crate::finding::Grade;
    use latido_model::{cell::Scheduling, machine::CoreKind};

    const STAYED: CoreCounts = CoreCounts {
        out_of_band_before: true,
        out_of_band_after: true,
        switches: 0,
        faults: Some(0),
        context_switches: 2_000,
        system_calls: Some(2_001),
        cpu_ns: 9_000_000,
    };

    fn told(counts: Option<CoreCounts>, change: impl Fn(&mut CoreRecord)) -> (Grade, String) {
        let found = finding("core", |record| {
            record.cell.scheduling = Scheduling::Evl { prio: 90 };
            let mut core =
                CoreRecord { kind: CoreKind::Evl, abi: 36, gravity_ns: Some(0), debug: std::iter::empty().collect() };
            change(&mut core);
            record.quality.core = Some(core);
            record.quality.threads.iter_mut().for_each(|thread| thread.core = counts);
            record.quality.threads.truncate(1);
        });
        (found.grade, found.text().replace(['\u{a0}', '\u{202f}'], " "))
    }

    #[test]
    fn a_thread_that_stayed_out_of_band_is_in_order() {
        let (grade, text) = told(Some(STAYED), |_| ());
        assert_eq!(
            (grade, text.as_str()),
            (Ok, "EVL (ABI 36): out of band throughout, 2 000 context switches, gravity 0")
        );
        let (grade, text) = told(Some(STAYED), |core| core.gravity_ns = Some(3_000));
        assert!(grade == Ok && text.ends_with("gravity 3.00 µs: a sample is that much too small"), "{text}");
    }

    /// A run with one switch in 10^5 slots has the same latencies as one without. Each of these alone makes the cell contaminated.
    #[test]
    fn whatever_left_the_core_contaminates() {
        for (counts, end) in [
            (CoreCounts { switches: 1, ..STAYED }, "the thread of CPU 0 switched to in-band 1 time"),
            (CoreCounts { faults: Some(1), ..STAYED }, "the thread of CPU 0 had 1 fault"),
            (
                CoreCounts { out_of_band_before: false, ..STAYED },
                "the thread of CPU 0 was in-band before the first sample",
            ),
            (
                CoreCounts { out_of_band_after: false, ..STAYED },
                "the thread of CPU 0 was in-band after the last sample",
            ),
        ] {
            let (grade, text) = told(Some(counts), |_| ());
            assert!(grade == Invalid && text == format!("EVL (ABI 36): {end}"), "{text}");
        }
        let (grade, text) = told(Some(STAYED), |core| _ = core.debug.insert("system call".into(), 2));
        assert_eq!((grade, text.as_str()), (Invalid, "EVL (ABI 36): SIGDEBUG: 2 (system call)"));
    }

    #[test]
    fn what_is_not_known_does_not_pass() {
        let (grade, text) = told(None, |_| ());
        assert!(grade == Invalid && text.starts_with("the core's counts are missing"), "{text}");
    }
}

//! The trust check of events with three stamps: how accurate t1 is, and which events lack stamps.

use super::checks::Graded;
use crate::{
    deciding::Deciding,
    finding::Grade::{Note, Ok, Unknown},
    span::spans,
};
use latido_model::record::{HandlerStamp, Record, StampsRecord};

/// Describes the source of the events; notes events without t2, and what the source does not cover.
pub(super) fn stamps(record: &Record, _: &Deciding) -> Graded {
    let Some(stamps) = &record.quality.stamps else { return (Unknown, spans!["not measured"]) };
    let missing = missing(stamps);
    let strangers = strangers(stamps);
    let told = missing
        .clone()
        .into_iter()
        .chain(strangers.clone())
        .chain([t1(stamps), t2(stamps)])
        .chain(stamps.beware.clone());
    let synchronous = (!stamps.asynchronous).then(|| "synchronous trigger: interrupts-off time not covered".to_owned());
    let grade = if missing.is_none() && strangers.is_none() && stamps.asynchronous { Ok } else { Note };
    (grade, spans![told.chain(synchronous).collect::<Vec<_>>().join("; ")])
}

fn t1(stamps: &StampsRecord) -> String {
    let error = stamps.error_ns.map(|ns| format!(", wrong by {ns} ns at most")).unwrap_or_default();
    format!("source {}, t1 is {} (step {} ns{error})", stamps.source, stamps.t1, stamps.resolution_ns)
}

fn t2(stamps: &StampsRecord) -> String {
    let threads = stamps.irq_threads.iter().map(|one| format!("{} {}", one.comm, one.policy)).collect::<Vec<_>>();
    let threads = if threads.is_empty() { String::new() } else { format!(", thread {}", threads.join(" and ")) };
    let trigger = stamps.trigger.as_ref().map(|policy| format!(", trigger {policy}")).unwrap_or_default();
    match &stamps.handler {
        HandlerStamp::Event { name } => format!("t2 is {name}{threads}{trigger}"),
        HandlerStamp::Function { symbol, by } => format!("t2 is the entry of {symbol} ({by}){threads}{trigger}"),
        HandlerStamp::Carried { what } => format!("t2 is {what}{threads}{trigger}"),
        HandlerStamp::None { why } => format!("no t2: {why}{threads}{trigger}"),
    }
}

/// Counts the packets that strangers sent to the station's port; `None` if there were none. Each of them cost the measured machine an
/// interrupt.
fn strangers(stamps: &StampsRecord) -> Option<String> {
    let count = stamps.strangers;
    let packets = if count == 1 { "packet" } else { "packets" };
    (count > 0)
        .then(|| format!("{count} {packets} from unknown senders reached the station's port; latido left them out"))
}

/// Counts the incomplete events; `None` if all are complete.
fn missing(stamps: &StampsRecord) -> Option<String> {
    let counts = [
        (stamps.lost, "without a stamp of the handler"),
        (stamps.doubled, "with several stamps of the handler"),
        (stamps.passed, "passed while the task was not waiting"),
        (stamps.dropped, "lost for lack of room"),
    ];
    let all = stamps.events.saturating_add(stamps.passed).saturating_add(stamps.dropped);
    let told = |(count, what): &(u64, &str)| if all == 1 { (*what).to_owned() } else { format!("{count} {what}") };
    let parts: Vec<String> = counts.iter().filter(|(count, _)| *count > 0).map(told).collect();
    let of = if all == 1 { "the only event: ".to_owned() } else { format!("of {all} events, ") };
    (!parts.is_empty()).then(|| format!("{of}{}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps() -> StampsRecord {
        let handler = HandlerStamp::Function { symbol: "hpet_interrupt".into(), by: "kprobe".into() };
        let (source, t1) = ("hpet".into(), "the comparator".into());
        StampsRecord {
            source,
            t1,
            asynchronous: true,
            resolution_ns: 10,
            error_ns: Some(59),
            handler,
            events: 300,
            ..StampsRecord::default()
        }
    }

    /// The check notes everything that makes stamps less reliable, and is ok otherwise.
    #[test]
    fn what_is_lost_strange_or_synchronous_is_a_note() {
        let grade = |stamps: Option<StampsRecord>| {
            let mut record = latido_model::sample::record();
            record.quality.stamps = stamps;
            super::stamps(&record, &Deciding::default()).0
        };
        assert_eq!((grade(None), grade(Some(stamps()))), (Unknown, Ok));
        let spoilt = [
            ("lost", StampsRecord { lost: 1, ..stamps() }),
            ("doubled", StampsRecord { doubled: 1, ..stamps() }),
            ("passed", StampsRecord { passed: 1, ..stamps() }),
            ("dropped", StampsRecord { dropped: 1, ..stamps() }),
            ("strangers", StampsRecord { strangers: 1, ..stamps() }),
            ("synchronous", StampsRecord { asynchronous: false, ..stamps() }),
        ];
        for (what, spoilt) in spoilt {
            assert_eq!(grade(Some(spoilt)), Note, "{what}");
        }
    }

    /// A stranger sent packets to the port: latido measures only the station's packets, and notes the others.
    #[test]
    fn strangers_are_noted() {
        assert_eq!(strangers(&stamps()), None);
        let told = strangers(&StampsRecord { strangers: 3, ..stamps() }).unwrap();
        assert_eq!(told, "3 packets from unknown senders reached the station's port; latido left them out");
    }

    /// If nothing is missing, the check does not mention it; otherwise it counts and names what is missing.
    #[test]
    fn what_did_not_come_together_is_counted() {
        assert_eq!(missing(&stamps()), None);
        let some = StampsRecord { lost: 2, passed: 1, ..stamps() };
        let told = "of 301 events, 2 without a stamp of the handler, 1 passed while the task was not waiting";
        assert_eq!(missing(&some).as_deref(), Some(told));
        let one = StampsRecord { events: 1, lost: 1, ..stamps() };
        assert_eq!(missing(&one).as_deref(), Some("the only event: without a stamp of the handler"));
        assert_eq!(t1(&some), "source hpet, t1 is the comparator (step 10 ns, wrong by 59 ns at most)");
        assert_eq!(t2(&some), "t2 is the entry of hpet_interrupt (kprobe)");
    }
}

//! Any bytes as the text of an event's format, and as records of it: its fields lie within the record, and the table of events that is made
//! from it resolves any record without a panic.
#![no_main]

use latido_trace::{
    bytes::Endian,
    events::Events,
    file::Described,
    format::{Format, Place},
};
use libfuzzer_sys::fuzz_target;

/// The systems whose events latido resolves.
const SYSTEMS: [&str; 9] =
    ["sched", "irq", "irq_vectors", "nmi", "raw_syscalls", "syscalls", "preemptirq", "timer", "task"];

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let endian = if choice & 1 == 0 { Endian::Little } else { Endian::Big };
    // The text, then NUL, then a record.
    let cut = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (text, record) = rest.split_at(cut);
    let Ok(format) = Format::parse(&String::from_utf8_lossy(text)) else { return };
    let mut own = match endian {
        Endian::Little => format.id.to_le_bytes(),
        Endian::Big => format.id.to_be_bytes(),
    }
    .to_vec();
    own.extend_from_slice(record);
    for field in &format.fields {
        let found = field.bytes(&own, endian);
        assert!(found.is_none_or(|found| found.len() <= own.len()), "a field lies in its record");
        if let Some(number) = format.number(&field.name, endian) {
            let first = format.field(&field.name).unwrap();
            assert_eq!(number.of(&own).is_some(), first.place == Place::Here && first.bytes(&own, endian).is_some());
        }
    }
    let told = format.describe(&own, endian);
    assert!(told.starts_with(&format.name));
    let system = SYSTEMS[usize::from(choice >> 1) % SYSTEMS.len()];
    let events = Events::of(&[Described { system: system.to_owned(), format }], endian);
    let _ = (events.happened(&own), events.writer(&own), events.context(&own), events.device(&own));
});

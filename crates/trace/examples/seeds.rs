//! Small trace files of every kind, and their pages, formats and records: the seeds of the fuzz targets for traces.
//!
//! `cargo run -p latido-trace --example seeds -- DIRECTORY` writes a directory for each target there.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{
    BIG, Bytes, File, LITTLE, Machine, Ring,
    events::{Event, header_page, story, switch_format, systems, waking_format},
    pages::Page,
};
use latido_trace::{bytes::Endian, file::Packing, page::Missed};
use std::{fs, path::PathBuf};

/// Small pages, so that a small change makes another file.
const PAGE: usize = 512;

fn main() {
    let to = PathBuf::from(std::env::args().nth(1).expect("usage: seeds DIRECTORY"));
    let write = |target: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(to.join(target)).unwrap();
        fs::write(to.join(target).join(name), bytes).unwrap();
    };
    for machine in [LITTLE, BIG, Machine { long: 4, ..LITTLE }, Machine { long: 4, ..BIG }] {
        let name = format!("{:?}{}", machine.endian, machine.long).to_lowercase();
        let choice = u8::from(machine.endian == Endian::Big) | if machine.long == 4 { 2 } else { 0 };
        for (kind, file) in files(machine) {
            write("trace_file", &format!("{name}-{kind}"), &file.build().bytes);
        }
        write("trace_page", &name, &[&[choice], &headers(machine)[..]].concat());
        write("trace_page", &format!("{name}-header"), &[&[choice], header_page(machine, 4096).as_bytes()].concat());
        for (number, (system, formats)) in systems(machine).into_iter().enumerate() {
            for (at, text) in formats.iter().enumerate() {
                let record =
                    [Event::Switch { from: 1, state: 1, to: 101 }, Event::Entry { irq: 7 }][number].record(machine);
                // The fuzz target puts the record's own number before it.
                let choice = u8::from(machine.endian == Endian::Big) | (number as u8) << 1;
                let bytes = [&[choice], text.as_bytes(), &[0], &record[2..]].concat();
                write("event_format", &format!("{name}-{system}-{at}"), &bytes);
            }
        }
    }
    // Events in the fuzzer's own short form: a task is woken, runs, is preempted and interrupted, and sleeps.
    for endian in 0..2u8 {
        let item = |cpu: u8, kind: u8, who: u8, amount: u8| [(kind * 2) | cpu, who, amount, 9];
        let life = [
            item(0, 1, 1, 0),
            item(1, 0, 1, 0),
            item(1, 4, 1, 5),
            item(1, 7, 1, 3),
            item(1, 8, 1, 3),
            item(1, 5, 1, 5),
        ];
        let rest = [
            item(1, 0, 2, 0),
            item(0, 25, 0, 0),
            item(1, 0, 1, 0),
            item(1, 14, 1, 9),
            item(1, 15, 1, 9),
            item(1, 0, 0, 1),
        ];
        let events: Vec<u8> = [endian].into_iter().chain(life.concat()).chain(rest.concat()).collect();
        write("trace_file", &format!("events-{endian}"), &events);
    }
}

/// The files of one machine, named by their peculiarity.
fn files(machine: Machine) -> Vec<(&'static str, File)> {
    let story = story(6, 5_000_000_000);
    let mut plain = File { page: PAGE, chunk: 1, ..File::of(machine, story.pages(machine, PAGE)) };
    plain.systems = vec![("sched", vec![switch_format(machine), waking_format()])];
    plain.names = "100 task-0\n".into();
    plain.rings[0].page = PAGE;
    let option = |id: u16, numbers: &[(u64, usize)]| {
        let mut option = Bytes::of(machine);
        numbers.iter().for_each(|(number, size)| _ = option.number(*number, *size));
        (id, option.bytes)
    };
    let shift = option(
        12,
        &[(1, 8), (1, 4), (1, 4), (2, 4), (0, 8), (9_000_000_000, 8), (5, 8), (900, 8), (3, 8), (3, 8), (1, 8), (1, 8)],
    );
    let options = vec![option(14, &[(5, 4), (1, 4), (0, 8)]), (7, b"-0x10\0".to_vec()), (1, b"0x20\0".to_vec()), shift];
    let headers = vec![Ring { cpus: vec![(0, headers(machine))], ..plain.rings[0].clone() }];
    let mut rings = plain.rings.clone();
    rings.push(Ring { name: "other", clock: "tsc", ..rings[0].clone() });
    vec![
        ("six", File { version: 6, options: options.clone(), rings: rings.clone(), ..plain.clone() }),
        ("options", File { options, ..plain.clone() }),
        ("headers", File { rings: headers, ..plain.clone() }),
        ("rings", File { rings, ..plain.clone() }),
        ("zlib", File { packing: Packing::Zlib, packed_sections: true, packed_data: true, ..plain.clone() }),
        ("zstd", File { packing: Packing::Zstd, packed_data: true, ..plain.clone() }),
        ("empty", File { rings: vec![Ring { cpus: vec![(0, vec![])], ..plain.rings[0].clone() }], ..plain }),
    ]
}

/// Makes a page with every kind of header.
fn headers(machine: Machine) -> Vec<u8> {
    let record = Event::Waking { pid: 101 }.record(machine);
    let mut page = Page::new(machine, PAGE, 1_000);
    page.event(1_000, &record);
    page.event(3_000_000_000, &record);
    page.stamp(4_000_000_000);
    page.large(4_000_000_005, &record);
    page.discarded(4_000_000_105, 12);
    page.event(4_000_000_110, &record);
    page.ends();
    page.missed = Missed::Events(7);
    page.finish()
}

//! Any bytes as the samples that a program reports: the reader receives the same in whatever pieces they arrive; it receives a cut-off text
//! up to the cut; there are no more bad lines than lines.
#![no_main]

use latido_import::source::{Declared, Form, Reader, Sink, Unit};
use libfuzzer_sys::fuzz_target;

/// What was received, in words.
#[derive(Default)]
struct Heard(Vec<String>);

impl Sink for Heard {
    fn series(&mut self, series: usize, declared: Declared) {
        assert!(series < latido_import::source::SERIES);
        self.0.push(format!("series {series} {declared:?}"));
    }

    fn ready(&mut self) {
        self.0.push("ready".into());
    }

    fn sample(&mut self, series: usize, value: i64, end: Option<u64>) {
        self.0.push(format!("{series} {value} {end:?}"));
    }

    fn missed(&mut self, series: usize, count: u64, due: Option<u64>) {
        self.0.push(format!("miss {series} {count} {due:?}"));
    }

    fn dropped(&mut self, series: usize, count: u64) {
        self.0.push(format!("drop {series} {count}"));
    }

    fn end(&mut self, series: usize, produced: u64) {
        self.0.push(format!("end {series} {produced}"));
    }
}

fn heard<'a>(form: Form, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, u64, Vec<String>) {
    let (mut heard, mut reader) = (Heard::default(), Reader::new(form, Some(Unit::Us)));
    pieces.into_iter().for_each(|piece| reader.take(piece, &mut heard));
    reader.finish();
    let bad: u64 = reader.bad().map(|(_, count)| count).sum();
    assert!(bad <= reader.lines() && reader.kept().len() as u64 <= bad.min(10));
    assert!(reader.kept().iter().all(|line| line.is_ascii()));
    (heard.0, reader.lines(), reader.kept().to_vec())
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, text)) = bytes.split_first() else { return };
    let form = Form::ALL[usize::from(*first) % Form::ALL.len()];
    let whole = heard(form, [text]);
    let size = usize::from(*first) + 1;
    assert_eq!(heard(form, text.chunks(size)), whole);
    let (begin, ..) = heard(form, [&text[..text.len() - text.len().min(size)]]);
    assert!(whole.0.starts_with(&begin));
    let ends = text.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert!(whole.1 <= ends + 1);
});

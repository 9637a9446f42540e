//! The stream between host, supervisor and measuring process: one JSON object a line, blobs as a header line and bytes.
//!
//! In goes one cell line and later `stop`; end of input means stop too. Out comes an append-only stream, the same over
//! a pipe, a file or a virtual port. Without an `end` line the cell did not end: the host counts it as `infra`.

use crate::record::Record;
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Read, Write};

/// The version of the stream.
pub const VERSION: u32 = 1;

/// The longest line and the largest blob accepted; anything longer is a broken or hostile peer.
const MAX_LINE: u64 = 64 << 20;

/// One line of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// [`VERSION`].
    pub v: u32,
    /// Counts the lines from 0, so that a lost one is noticed.
    pub seq: u64,
    /// What it says.
    pub body: Body,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Body {
    /// The peer is there.
    Hello {
        /// Its version of latido.
        latido: String,
        /// Its process id.
        pid: u32,
    },
    /// What is going on now.
    Progress(Progress),
    /// `len` bytes follow the line: a file of the cell.
    Blob {
        /// A plain file name.
        name: String,
        /// Length in bytes.
        len: u64,
        /// CRC-32 (IEEE) of the bytes.
        crc32: u32,
    },
    /// The result; its blobs came before it.
    Record(Box<Record>),
    /// Something a person must know; the cell goes on unless `end` follows.
    Error {
        /// What happened and what to do.
        message: String,
    },
    /// Nothing follows.
    End {
        /// How it went.
        status: EndStatus,
    },
}

/// How a cell ended, as far as the stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndStatus {
    /// A record was sent and everything is put back.
    Done,
    /// No record; an error line said why. Everything is put back.
    Failed,
}

/// The state of a running cell, five times a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What the agent does: `tuning`, `loading`, `settling`, `warm-up`, `measuring`, `finishing`,
    /// `undoing`.
    pub phase: String,
    /// Time measured, in ns.
    pub elapsed_ns: u64,
    /// Time to measure, in ns; 0 where the cell counts samples instead.
    pub total_ns: u64,
    /// CLOCK_MONOTONIC when the first timer was armed, in ns; 0 before.
    pub armed_at_ns: u64,
    /// One entry per measuring thread.
    pub threads: Vec<ThreadProgress>,
}

/// The state of one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadProgress {
    /// Its CPU; absent when free to move.
    pub cpu: Option<u32>,
    /// Samples so far.
    pub count: u64,
    /// The last sample, ns.
    pub now: i64,
    /// Median so far, ns.
    pub p50: Option<i64>,
    /// 99.9th percentile so far, ns.
    pub p999: Option<i64>,
    /// Largest so far, ns.
    pub max: Option<i64>,
    /// Missed slots so far.
    pub missed: u64,
    /// The latest sample that set a record or passed the limit: value and time since the first slot, ns.
    pub spike: Option<(i64, u64)>,
    /// What is measured, with the labels' values: `lock normal`.
    #[serde(default)]
    pub name: String,
    /// The unit of the values where it is not ns.
    #[serde(default)]
    pub unit: Option<String>,
    /// The last of the samples kept in order, which has a sign.
    #[serde(default)]
    pub kept: Option<i64>,
}

/// The sending side.
pub struct Writer<W: Write> {
    out: W,
    seq: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a stream.
    pub fn new(out: W) -> Self {
        Self { out, seq: 0 }
    }

    /// Sends one line and flushes it.
    pub fn send(&mut self, body: Body) -> Result<()> {
        serde_json::to_writer(&mut self.out, &Line { v: VERSION, seq: self.seq, body })?;
        self.out.write_all(b"\n")?;
        self.seq += 1;
        Ok(self.out.flush()?)
    }

    /// Sends a file of the cell.
    pub fn blob(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let header = Body::Blob { name: name.into(), len: bytes.len() as u64, crc32: crc32fast::hash(bytes) };
        self.send(header)?;
        self.out.write_all(bytes)?;
        Ok(self.out.flush()?)
    }
}

/// What arrived.
#[derive(Debug)]
pub enum Message {
    /// A line.
    Line(Body),
    /// A whole blob, its checksum verified.
    Blob {
        /// A plain file name.
        name: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// The receiving side.
pub struct Reader<R: BufRead> {
    input: R,
    seq: u64,
}

impl<R: BufRead> Reader<R> {
    /// Listens to a stream.
    pub fn new(input: R) -> Self {
        Self { input, seq: 0 }
    }

    /// The next message, or `None` at a clean end of the stream.
    ///
    /// # Errors
    /// A line that is not of the protocol, a lost or doubled line, a blob cut short or with a wrong checksum.
    pub fn receive(&mut self) -> Result<Option<Message>> {
        let mut text = Vec::new();
        let got = (&mut self.input).take(MAX_LINE).read_until(b'\n', &mut text)?;
        if got == 0 {
            return Ok(None);
        }
        ensure!(text.last() == Some(&b'\n'), "the agent's stream was cut in line {}", self.seq);
        let line: Line = serde_json::from_slice(&text)
            .with_context(|| format!("line {} of the agent's stream: {}", self.seq, excerpt(&text)))?;
        ensure!(
            line.v == VERSION,
            "the agent speaks version {} of the protocol, this latido version {VERSION}",
            line.v
        );
        ensure!(line.seq == self.seq, "the agent's stream lost a line: {} came after {}", line.seq, self.seq);
        self.seq += 1;
        let Body::Blob { name, len, crc32 } = line.body else {
            return Ok(Some(Message::Line(line.body)));
        };
        // The name becomes a file name on the host: nothing from the target may point anywhere else.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            bail!("the agent sent a file named {name:?}");
        }
        ensure!(len <= MAX_LINE, "the agent sent a file of {len} bytes");
        let mut bytes = Vec::new();
        (&mut self.input).take(len).read_to_end(&mut bytes)?;
        ensure!(
            bytes.len() as u64 == len,
            "file {name} of the agent's stream was cut at {} of {len} bytes",
            bytes.len()
        );
        ensure!(crc32fast::hash(&bytes) == crc32, "file {name} of the agent's stream has a wrong checksum");
        Ok(Some(Message::Blob { name, bytes }))
    }
}

fn excerpt(text: &[u8]) -> String {
    String::from_utf8_lossy(text.get(..80).unwrap_or(text)).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_comes_back_as_sent() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        writer.send(Body::Hello { latido: "0.1.0".into(), pid: 7 }).unwrap();
        writer.blob("histogram-0.hdr", b"\n{}\0").unwrap();
        writer.send(Body::End { status: EndStatus::Done }).unwrap();
        let mut reader = Reader::new(&bytes[..]);
        assert!(matches!(reader.receive().unwrap(), Some(Message::Line(Body::Hello { pid: 7, .. }))));
        assert!(matches!(reader.receive().unwrap(), Some(Message::Blob { bytes, .. }) if bytes == b"\n{}\0"));
        assert!(matches!(reader.receive().unwrap(), Some(Message::Line(Body::End { .. }))));
        assert!(reader.receive().unwrap().is_none());
    }

    /// A record passes two streams before it is stored: it must not change on the way.
    #[test]
    fn numbers_keep_every_bit() {
        let mut record = crate::sample::record();
        record.quality.clock.cost_ns = 110.97085433165347;
        let sent = Body::Record(Box::new(record));
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).send(sent.clone()).unwrap();
        assert!(matches!(Reader::new(&bytes[..]).receive().unwrap(), Some(Message::Line(got)) if got == sent));
    }

    #[test]
    fn refuses_names_that_leave_the_directory() {
        for name in ["../x", "/etc/passwd", ".hidden", "", "a b"] {
            let mut bytes = Vec::new();
            Writer::new(&mut bytes).blob(name, b"x").unwrap();
            assert!(Reader::new(&bytes[..]).receive().is_err(), "{name}");
        }
    }

    proptest::proptest! {
        /// Whatever a broken peer sends, the reader answers with an error or an end, and ends.
        #[test]
        fn junk_never_panics(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes[..]);
            while let Ok(Some(_)) = reader.receive() {}
        }

        #[test]
        fn a_cut_stream_is_noticed(cut in 1usize..400) {
            let mut bytes = Vec::new();
            let mut writer = Writer::new(&mut bytes);
            writer.blob("a", &[7; 300]).unwrap();
            let cut = cut.min(bytes.len() - 1);
            proptest::prop_assert!(Reader::new(&bytes[..cut]).receive().is_err());
        }
    }
}

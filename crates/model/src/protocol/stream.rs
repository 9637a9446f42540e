//! Numbered lines of JSON, and the bytes of attachments between them.

use super::{CHUNK, Reply};
use crate::run::keys;
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::{
    io::{BufRead, Read, Write},
    marker::PhantomData,
};

/// The longest line accepted; anything longer is a broken or hostile peer.
const MAX_LINE: u64 = 32 << 20;

/// The reader does not limit the values in a line up to this length, in bytes.
const SHORT: usize = 64 << 10;

/// A longer line may have as many values as a short one, plus one for every this many bytes. Each value takes some 100 bytes of memory, and
/// the values of records take more of the line.
const BYTES_A_VALUE: usize = 8;

/// One line.
#[derive(Serialize, Deserialize)]
struct Line<T> {
    /// The number of the line, from 0, so that the reader notices a lost one.
    seq: u64,
    /// The content of the line.
    body: T,
}

/// The sending side.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    seq: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a stream.
    pub fn new(out: W) -> Self {
        Self { out, seq: 0 }
    }

    /// Returns the underlying writer, for what comes before the first line.
    pub fn inner(&mut self) -> &mut W {
        &mut self.out
    }

    /// Sends one line and flushes it.
    ///
    /// # Errors
    /// The peer is gone.
    pub fn send<T: Serialize>(&mut self, body: &T) -> Result<()> {
        // Written at once, so that no half of a line waits in a buffer while the peer sees the other half.
        let mut line = serde_json::to_vec(&Line { seq: self.seq, body })?;
        line.push(b'\n');
        self.out.write_all(&line)?;
        self.seq += 1;
        Ok(self.out.flush()?)
    }

    /// Sends an attachment from its beginning to its end. After each chunk, `between` may send something.
    ///
    /// # Errors
    /// The peer is gone, or the file became shorter.
    pub fn attach(
        &mut self,
        name: &str,
        len: u64,
        mut from: impl Read,
        mut between: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.send(&Reply::Attachment { name: name.into(), len })?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; CHUNK];
        let mut left = len;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            let Some(piece) = buffer.get_mut(..most) else { break };
            from.read_exact(piece)
                .with_context(|| format!("the attachment {name} became shorter while latido sent it"))?;
            hash.update(&*piece);
            self.send(&Reply::Chunk { len: u32::try_from(most)? })?;
            self.out.write_all(piece)?;
            self.out.flush()?;
            left -= most as u64;
            between(self)?;
        }
        self.send(&Reply::AttachmentEnd { sha256: hex(&hash.finalize()) })
    }
}

/// What an agent sent.
#[derive(Debug)]
pub enum Message {
    /// A reply. For an attachment, these are only its start and its end; both are verified.
    Reply(Reply),
    /// The next bytes of the open attachment.
    Bytes(Vec<u8>),
}

/// The receiving side.
#[derive(Debug)]
pub struct Reader<R: BufRead, T> {
    input: R,
    seq: u64,
    what: PhantomData<fn() -> T>,
}

impl<R: BufRead, T: DeserializeOwned> Reader<R, T> {
    /// Listens to a stream.
    pub fn new(input: R) -> Self {
        Self { input, seq: 0, what: PhantomData }
    }

    /// Reads the next line, or returns `None` at a clean end of the stream.
    ///
    /// # Errors
    /// A line is not part of the protocol, too long, lost or doubled.
    pub fn line(&mut self) -> Result<Option<T>> {
        let mut text = Vec::new();
        let got = (&mut self.input).take(MAX_LINE).read_until(b'\n', &mut text)?;
        if got == 0 {
            return Ok(None);
        }
        ensure!(got as u64 != MAX_LINE, "line {} of the stream has no end within {MAX_LINE} bytes", self.seq);
        ensure!(text.last() == Some(&b'\n'), "the stream was cut in line {}", self.seq);
        if text.len() > SHORT {
            keys::of_at_most(&text, SHORT + text.len() / BYTES_A_VALUE)
                .with_context(|| format!("line {} of the stream: {}", self.seq, excerpt(&text)))?;
        }
        let line: Line<T> = serde_json::from_slice(&text)
            .with_context(|| format!("line {} of the stream: {}", self.seq, excerpt(&text)))?;
        ensure!(line.seq == self.seq, "the stream lost a line: {} came after {}", line.seq, self.seq);
        self.seq += 1;
        Ok(Some(line.body))
    }
}

/// Replies with the attachments between them. Their names, lengths and hashes are checked.
#[derive(Debug)]
pub struct Chunks<R: BufRead> {
    lines: Reader<R, Reply>,
    open: Option<Open>,
}

/// An attachment that is being received.
#[derive(Debug)]
struct Open {
    name: String,
    left: u64,
    hash: Sha256,
}

impl<R: BufRead> Chunks<R> {
    /// Listens to an agent that has sent its hello.
    pub fn new(input: R) -> Self {
        Self { lines: Reader::new(input), open: None }
    }

    /// Reads the next message, or returns `None` at a clean end of the stream.
    ///
    /// # Errors
    /// As [`Reader::line`]. An attachment is cut short, has another length or hash than announced, or a name that leaves its directory.
    pub fn receive(&mut self) -> Result<Option<Message>> {
        let Some(reply) = self.lines.line()? else {
            ensure!(self.open.is_none(), "the stream ended within an attachment");
            return Ok(None);
        };
        match (&reply, &mut self.open) {
            (Reply::Attachment { name, len }, None) => {
                // The name becomes a file name on the host, so a name from the target must not point anywhere else.
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
                let sound = !name.is_empty() && name.len() <= 128 && !name.starts_with('.') && name.chars().all(plain);
                ensure!(sound, "the agent sent a file named {name:?}");
                self.open = Some(Open { name: name.clone(), left: *len, hash: Sha256::new() });
            }
            (Reply::Chunk { len }, Some(open)) => {
                let len = *len as usize;
                ensure!(
                    len <= CHUNK && len as u64 <= open.left,
                    "the attachment {} is longer than announced",
                    open.name
                );
                let mut bytes = vec![0; len];
                let read = self.lines.input.read_exact(&mut bytes);
                read.with_context(|| format!("the attachment {} was cut", open.name))?;
                open.hash.update(&bytes);
                open.left -= len as u64;
                return Ok(Some(Message::Bytes(bytes)));
            }
            (Reply::AttachmentEnd { sha256 }, Some(open)) => {
                ensure!(open.left == 0, "the attachment {} is {} bytes short", open.name, open.left);
                let found = hex(&std::mem::take(&mut open.hash).finalize());
                ensure!(found == *sha256, "the attachment {} has a wrong checksum", open.name);
                self.open = None;
            }
            (Reply::Chunk { .. } | Reply::AttachmentEnd { .. }, None) => {
                bail!("a piece of an attachment arrived before the attachment started")
            }
            (Reply::Progress(_) | Reply::Note { .. }, _) | (_, None) => {}
            (_, Some(open)) => bail!("the attachment {} was not ended", open.name),
        }
        Ok(Some(Message::Reply(reply)))
    }
}

/// Returns the bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn excerpt(text: &[u8]) -> String {
    String::from_utf8_lossy(text.get(..80).unwrap_or(text)).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{EndStatus, Phase, Progress, Request};

    fn done() -> Reply {
        Reply::End { status: EndStatus::Done }
    }

    #[test]
    fn a_stream_comes_back_as_sent() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        let content = vec![7; CHUNK + 5];
        writer
            .attach("histogram-0.hdr", content.len() as u64, &content[..], |writer| {
                writer.send(&Reply::Progress(Progress::of(Phase::Sending)))
            })
            .unwrap();
        writer.send(&done()).unwrap();
        let mut reader = Chunks::new(&bytes[..]);
        let mut got = Vec::new();
        let mut said = 0;
        loop {
            match reader.receive().unwrap() {
                Some(Message::Bytes(bytes)) => got.extend(bytes),
                Some(Message::Reply(Reply::Progress(_))) => said += 1,
                Some(Message::Reply(Reply::End { .. })) => break,
                Some(_) => {}
                None => panic!("no end"),
            }
        }
        assert_eq!((got, said), (content, 2));
        assert!(reader.receive().unwrap().is_none());
    }

    /// A record that passes through streams before it is stored arrives unchanged.
    #[test]
    fn numbers_keep_every_bit() {
        let mut record = crate::sample::record();
        record.quality.clock.cost_ns = 110.97085433165347;
        let sent = Reply::Record(Box::new(record));
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).send(&sent).unwrap();
        assert!(matches!(Chunks::new(&bytes[..]).receive().unwrap(), Some(Message::Reply(got)) if got == sent));
    }

    #[test]
    fn requests_come_back_as_sent() {
        let sent = Request::Prepare { cells: vec![crate::sample::cell()], wait: None };
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        writer.send(&Request::Ping).unwrap();
        writer.send(&sent).unwrap();
        let mut reader = Reader::<_, Request>::new(&bytes[..]);
        assert_eq!(reader.line().unwrap(), Some(Request::Ping));
        assert_eq!(reader.line().unwrap(), Some(sent));
        assert_eq!(reader.line().unwrap(), None);
    }

    #[test]
    fn refuses_names_that_leave_the_directory() {
        for name in ["../x", "/etc/passwd", ".hidden", "", "a b"] {
            let mut bytes = Vec::new();
            Writer::new(&mut bytes).attach(name, 1, &b"x"[..], |_| Ok(())).unwrap();
            assert!(Chunks::new(&bytes[..]).receive().is_err(), "{name}");
        }
    }

    #[test]
    fn a_wrong_checksum_and_wrong_lengths_are_noticed() {
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).attach("a", 3, &b"xyz"[..], |_| Ok(())).unwrap();
        let at = bytes.windows(3).position(|three| three == b"xyz").unwrap();
        bytes[at] = b'X';
        let mut reader = Chunks::new(&bytes[..]);
        reader.receive().unwrap();
        reader.receive().unwrap();
        assert!(reader.receive().unwrap_err().to_string().contains("wrong checksum"));
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        writer.send(&Reply::Attachment { name: "a".into(), len: 3 }).unwrap();
        writer.send(&Reply::Chunk { len: 9 }).unwrap();
        let mut reader = Chunks::new(&bytes[..]);
        reader.receive().unwrap();
        assert!(reader.receive().unwrap_err().to_string().contains("longer than announced"));
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).send(&Reply::Chunk { len: 1 }).unwrap();
        assert!(Chunks::new(&bytes[..]).receive().is_err());
    }

    /// The reader refuses the line after a lost one and the second copy of a doubled one, and names both numbers.
    #[test]
    fn a_lost_and_a_doubled_line_are_noticed() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        (0..3).for_each(|_| writer.send(&Request::Ping).unwrap());
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let trials = [
            ("the first is lost", vec![1, 2], 0, "1 came after 0"),
            ("one between is lost", vec![0, 2], 1, "2 came after 1"),
            ("one is doubled", vec![0, 0, 1, 2], 1, "0 came after 1"),
            ("two are exchanged", vec![0, 2, 1], 1, "2 came after 1"),
        ];
        for (what, arrive, good, told) in trials {
            let stream: Vec<u8> = arrive.iter().flat_map(|at: &usize| lines[*at]).copied().collect();
            let mut reader = Reader::<_, Request>::new(&stream[..]);
            for _ in 0..good {
                assert_eq!(reader.line().unwrap(), Some(Request::Ping), "{what}");
            }
            let error = reader.line().expect_err(what).to_string();
            assert!(error.contains("lost a line") && error.contains(told), "{what}: {error}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let endless = std::io::BufReader::new(std::io::repeat(b'a'));
        assert!(Chunks::new(endless).receive().unwrap_err().to_string().contains("no end"));
    }

    /// The reader refuses a line of many small values, which would take fifty times its bytes, before it keeps any of them, even below an
    /// unused key.
    #[test]
    fn a_line_of_many_values_is_refused() {
        let line = |values: usize, value: &str| {
            let body = format!("{{\"type\":\"note\",\"message\":\"x\",\"zz\":[{}0]}}", value.repeat(values));
            format!("{{\"seq\":0,\"body\":{body}}}\n")
        };
        let told = |line: String| Chunks::new(line.as_bytes()).receive().map_err(|error| format!("{error:#}"));
        assert!(told(line(200_000, "[0],")).unwrap_err().contains("values, the most that latido reads"));
        assert!(told(line(200_000, "\"a\",")).unwrap_err().contains("values, the most that latido reads"));
        // As many values are fine in a line that is long enough, as in a large record.
        assert!(told(line(200_000, "12345678901,")).is_ok());
    }

    proptest::proptest! {
        /// Whatever a broken peer sends, the reader returns an error or an end, and ends.
        #[test]
        fn junk_never_panics(bytes: Vec<u8>, edits: Vec<(u16, u8)>) {
            // Random bytes are hardly ever a line: a stream that is wrong in a few places is read further.
            let mut nearly = Vec::new();
            Writer::new(&mut nearly).attach("a", 300, &[7; 300][..], |_| Ok(())).unwrap();
            for (at, byte) in edits.into_iter().take(3) {
                let length = nearly.len();
                nearly[usize::from(at) % length] = byte;
            }
            for bytes in [bytes, nearly] {
                let mut reader = Chunks::new(&bytes[..]);
                while let Ok(Some(_)) = reader.receive() {}
                let mut reader = Reader::<_, Request>::new(&bytes[..]);
                while let Ok(Some(_)) = reader.line() {}
            }
        }

        #[test]
        fn a_cut_stream_is_noticed(cut in 1usize..600) {
            let mut bytes = Vec::new();
            Writer::new(&mut bytes).attach("a", 300, &[7; 300][..], |_| Ok(())).unwrap();
            let cut = cut.min(bytes.len() - 1);
            let mut reader = Chunks::new(&bytes[..cut]);
            let noticed = loop {
                match reader.receive() {
                    Err(_) => break true,
                    Ok(None) => break false,
                    Ok(Some(_)) => {}
                }
            };
            // The reader notices a cut between two lines of an attachment too.
            proptest::prop_assert!(noticed);
        }
    }
}

//! The JSON of rt-tests (`--json`, from 2.0 on), with the corrections that faults of its writer make necessary.

use crate::{
    cyclictest,
    format::Asked,
    imported::Imported,
    text::{contains, lines, shown},
};
use anyhow::{Context, Result, ensure};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use std::{collections::BTreeMap, fmt, marker::PhantomData};

/// The document; `T` is the part of each thread that differs between the tools.
#[derive(Debug, Deserialize)]
pub struct Document<T> {
    /// The version of the format, always 1.
    pub file_version: u64,
    /// The command line. The colon in the key is the writer's.
    #[serde(rename = "cmdline:", alias = "cmdline")]
    pub cmdline: Option<String>,
    /// `2.40`; 2.1 and 2.10 are both `2.10`.
    #[serde(rename = "rt_test_version:", alias = "rt_test_version")]
    pub version: Option<String>,
    /// The start time, RFC 2822.
    pub start_time: Option<String>,
    /// The end time, RFC 2822.
    pub end_time: Option<String>,
    /// The exit code of the tool.
    pub return_code: Option<i64>,
    /// `uname`, and whether the kernel is PREEMPT_RT.
    #[serde(default)]
    pub sysinfo: BTreeMap<String, serde_json::Value>,
    /// The number of threads.
    pub num_threads: Option<u64>,
    /// A flag: whether values are in ns, not us.
    pub resolution_in_ns: Option<u64>,
    /// The threads by index.
    pub thread: Pairs<T>,
}

/// The entries of an object with numbers as keys, in ascending order whatever order the file has. No key appears twice.
#[derive(Debug)]
pub struct Pairs<T>(pub Vec<(u64, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Keys<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Keys<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object whose keys are whole numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all: Vec<(u64, T)> = Vec::new();
                while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    let number = key.parse().map_err(|_| {
                        serde::de::Error::custom(format!("the key `{}` is not a whole number", shown(key.as_bytes())))
                    })?;
                    all.push((number, map.next_value()?));
                }
                // Writers that sort keys sort them as text: 10 before 9.
                all.sort_by_key(|(number, _)| *number);
                let twice = all.windows(2).find_map(|two| match two {
                    [(one, _), (next, _)] if one == next => Some(*one),
                    _ => None,
                });
                match twice {
                    Some(key) => Err(serde::de::Error::custom(format!("the key `{key}` appears twice"))),
                    None => Ok(Pairs(all)),
                }
            }
        }
        from.deserialize_map(Keys(PhantomData))
    }
}

/// Whether a file contains a document of rt-tests, from any tool.
pub fn is_any(bytes: &[u8]) -> bool {
    object(bytes).is_ok_and(|text| contains(text.first_kib(), b"\"file_version\""))
}

/// Whether a file contains a document of rt-tests whose command line starts with `tool`. Where the command line names no known tool:
/// whether the document has all keys of `has` and none of `lacks`.
pub fn is_of(bytes: &[u8], tool: &str, has: &[&str], lacks: &[&str]) -> bool {
    let Some(text) = object(bytes).ok().filter(|text| contains(text.first_kib(), b"\"file_version\"")) else {
        return false;
    };
    match command(text.0) {
        Some(line) if cyclictest::KNOWN.contains(&tool_of(&line)) => tool_of(&line) == tool,
        _ => {
            let key = |name: &&str| contains(text.0, format!("\"{name}\":").as_bytes());
            !has.is_empty() && has.iter().all(key) && !lacks.iter().any(key)
        }
    }
}

/// Returns the name of the tool in a command line.
fn tool_of(line: &str) -> &str {
    line.split_whitespace().next().and_then(|word| word.rsplit('/').next()).unwrap_or_default()
}

/// Finds the command line as the document has it, even if it is not valid JSON.
fn command(text: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "cmdline:", alias = "cmdline")]
        line: String,
    }
    if let Some((_, line)) = lines(text).take(20).find(|(_, line)| is_command(line)) {
        return Some(value_of(line)?.replace("\\\"", "\""));
    }
    // The document is one line.
    let mut head = serde_json::Deserializer::from_slice(text).into_iter::<Head>();
    Some(head.next()?.ok()?.line)
}

fn is_command(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"\"cmdline:\":") || line.starts_with(b"\"cmdline\":")
}

/// Returns the text between the first quote of the value and the last quote of the line.
fn value_of(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let (_, value) = text.split_once("\": \"").or_else(|| text.split_once("\":\""))?;
    Some(value.trim_end().trim_end_matches(',').strip_suffix('"')?.to_owned())
}

/// An object's text, the number of its first line, and the bytes behind the object.
struct Object<'a>(&'a [u8], usize, &'a [u8]);

impl Object<'_> {
    fn first_kib(&self) -> &[u8] {
        self.0.get(..self.0.len().min(1024)).unwrap_or_default()
    }
}

/// Finds the object of a file: from the line that begins with `{` to the line `}`. The tool's other output may surround it.
fn object(bytes: &[u8]) -> Result<Object<'_>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let (mut begin, mut at) = (None, 0);
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let bare = line.trim_ascii_end();
        match begin {
            None if bare.first() == Some(&b'{') => begin = Some((at, number)),
            Some((begin, first)) if bare == b"}" => {
                let (text, rest) = bytes.split_at_checked(at + 1).context("no object")?;
                return Ok(Object(text.get(begin..).context("no object")?, first, rest));
            }
            _ => {}
        }
        at += line.len();
    }
    // The object is one line, or its last line has more than `}`: the JSON reader decides.
    let (begin, first) = begin.context("no line begins with `{`")?;
    Ok(Object(bytes.get(begin..).context("no object")?, first, &[]))
}

/// Refuses a second document behind the first one.
fn alone_in_file(rest: &[u8], line: usize) -> Result<()> {
    let second = lines(rest).find(|(_, text)| text.first() == Some(&b'{')).map(|(at, _)| line + at - 1);
    ensure!(second.is_none(), "line {}: a second document: keep one run per file", second.unwrap_or_default());
    Ok(())
}

/// Reads a document and returns it with notes on what latido corrected.
///
/// # Errors
/// The text is no such document; the error names the line of the object.
pub fn read<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<(Document<T>, Vec<String>)> {
    let Object(text, first, after) = object(bytes)?;
    let mut notes = Vec::new();
    let whole = String::from_utf8_lossy(text);
    let mut mended = String::with_capacity(whole.len());
    for line in whole.split_inclusive('\n') {
        mended.push_str(&mend(line, &mut notes));
    }
    let mut reader = serde_json::Deserializer::from_str(&mended).into_iter::<Document<T>>();
    let document = reader.next().context("no object")?.context("its JSON")?;
    let (own, rest) = mended.split_at_checked(reader.byte_offset()).context("no object")?;
    alone_in_file(rest.as_bytes(), first + own.matches('\n').count())?;
    ensure!(rest.trim().is_empty(), "its JSON: more text after its end: `{}`", shown(rest.as_bytes()));
    alone_in_file(after, first + text.iter().filter(|byte| **byte == b'\n').count())?;
    ensure!(document.file_version == 1, "file_version {}, but latido reads only 1", document.file_version);
    if let Some(number) = document.num_threads {
        let there = document.thread.0.len() as u64;
        ensure!(number == there, "num_threads is {number}, but the file has {there}");
    }
    Ok((document, notes))
}

/// Turns a line into valid JSON: `nan` and `inf` become null, and quotes in the command line are escaped.
fn mend(line: &str, notes: &mut Vec<String>) -> String {
    let bare = line.trim_end();
    let value = bare.strip_suffix(',').unwrap_or(bare).rsplit_once(": ").map(|(_, value)| value.trim());
    if let Some(word @ ("nan" | "-nan" | "inf" | "-inf")) = value {
        notes.push(format!("repaired: latido read `{word}`, which is not JSON, as not measured"));
        return line.replacen(&format!(": {word}"), ": null", 1);
    }
    let broken = is_command(line.as_bytes()) && serde_json::from_str::<serde_json::Value>(&alone(bare)).is_err();
    if let Some(value) = value_of(line.as_bytes()).filter(|_| broken) {
        notes.push("repaired: the command line is not escaped".into());
        let comma = if bare.ends_with(',') { "," } else { "" };
        return format!("\"cmdline:\": {}{comma}\n", serde_json::Value::String(value));
    }
    line.to_owned()
}

/// Turns one line of an object into an object by itself.
fn alone(line: &str) -> String {
    format!("{{{}}}", line.trim().trim_end_matches(','))
}

impl<T> Document<T> {
    /// Whether latido wrote the document, from finer bins.
    pub fn is_export(&self) -> bool {
        self.version.as_deref().is_some_and(|version| version.starts_with("latido "))
    }

    /// Returns an import of the document, without its series.
    pub fn imported(&self, tool: &str, notes: Vec<String>, asked: &Asked) -> Imported {
        let line = asked.args.clone().or_else(|| self.cmdline.clone());
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mut imported = Imported {
            tool: tool.into(),
            title: tool.into(),
            version: self.version.as_deref().map(|version| shown(version.as_bytes())),
            times: [self.start_time.clone(), self.end_time.clone()],
            machine: self.sysinfo.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
            notes,
            ..Imported::default()
        };
        if let Some(line) = line {
            cyclictest::commanded(&mut imported, &line);
        }
        if let Some(code) = self.return_code.filter(|code| *code != 0) {
            imported.notes.push(format!("the tool returned {code}"));
        }
        imported
    }
}

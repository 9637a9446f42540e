//! What the targets share: a scratch directory in memory, and edits of a sound JSON document.

pub mod story;

use serde_json::Value;
use std::{fs, path::PathBuf};

/// Makes an empty directory of this process, in memory if possible; always the same one for a name.
pub fn scratch(name: &str) -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    let base = if shared.is_dir() { shared } else { std::env::temp_dir() };
    let dir = base.join(format!("latido-fuzz-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a scratch directory");
    dir
}

/// Changes a document as the bytes say. Four bytes make a change: the node (two bytes), the kind of change, and its value. Random bytes are
/// seldom JSON; this makes JSON that is almost right.
pub fn edit(document: &mut Value, bytes: &[u8]) {
    for change in bytes.chunks_exact(4).take(16) {
        let mut nodes = 0;
        visit(document, &mut |_| nodes += 1);
        let wanted = usize::from(u16::from_le_bytes([change[0], change[1]])) % nodes;
        let mut at = 0;
        visit(document, &mut |node| {
            if at == wanted {
                alter(node, change[2], change[3]);
            }
            at += 1;
        });
    }
}

fn visit(node: &mut Value, see: &mut impl FnMut(&mut Value)) {
    // Children first: the function does not enter a changed node.
    match node {
        Value::Array(values) => values.iter_mut().for_each(|value| visit(value, see)),
        Value::Object(map) => map.values_mut().for_each(|value| visit(value, see)),
        _ => {}
    }
    see(node);
}

fn alter(node: &mut Value, what: u8, with: u8) {
    let at = usize::from(with);
    match what % 8 {
        0 => *node = Value::Null,
        1 | 2 => *node = number(at),
        3 => *node = text(at),
        4 => *node = with.into(),
        5 => match node {
            Value::Array(values) if !values.is_empty() => {
                let again = values[at % values.len()].clone();
                values.push(again);
            }
            Value::Number(number) => {
                let doubled = number.as_u64().unwrap_or(1).wrapping_shl(u32::from(with));
                *node = doubled.into();
            }
            other => *other = Value::Array(Vec::new()),
        },
        6 => match node {
            Value::Array(values) if !values.is_empty() => drop(values.remove(at % values.len())),
            Value::Object(map) if !map.is_empty() => {
                let key = map.keys().nth(at % map.len()).cloned();
                key.map(|key| map.remove(&key));
            }
            other => *other = Value::Bool(with % 2 == 0),
        },
        _ => match node {
            Value::Array(values) => values.reverse(),
            Value::Object(map) => drop(map.insert("novelty".into(), with.into())),
            other => *other = Value::Object(serde_json::Map::new()),
        },
    }
}

fn number(at: usize) -> Value {
    let numbers: [Value; 16] = [
        u64::MAX.into(),
        (u64::MAX - 1).into(),
        i64::MAX.into(),
        i64::MIN.into(),
        (1u64 << 53).into(),
        u32::MAX.into(),
        (-1).into(),
        0.into(),
        1.into(),
        1e308.into(),
        (-1e308).into(),
        5e-324.into(),
        0.1.into(),
        110.97085433165347.into(),
        (-7.123456789012345e-5).into(),
        60_000_000_001_u64.into(),
    ];
    numbers[at % numbers.len()].clone()
}

fn text(at: usize) -> Value {
    let texts = [
        "",
        "\u{0}",
        "é\u{1f600}",
        "<script>",
        "wakeup",
        "gap",
        "null",
        "latency",
        "1ms",
        "0ns",
        "200d",
        "fifo",
        "deadline",
        "histogram-0.hdr",
        "blocks-0.csv",
        "largest-0.csv",
        "../x",
        "nan",
        "0.5",
        "2026-11-21T20:00:00Z",
        "-9999-01-01T00:00:00Z",
        "complete",
        "stopped",
        "rad",
    ];
    match texts.get(at % (texts.len() + 1)) {
        Some(text) => (*text).into(),
        None => "long ".repeat(2000).into(),
    }
}

//! The text of a histogram trigger (`events/…/hist`, Documentation/trace/histogram.rst).

use super::{
    header::Trigger,
    scan::{decimal, number, word},
};

/// A row of a histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Its keys with their names.
    pub keys: Vec<(String, Key)>,
    /// Its values with their names: `hitcount`, and the requested values.
    pub values: Vec<(String, Value)>,
}

/// A key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A number.
    Number(i128),
    /// `~ 2^5`: above 2 to the power of 4, up to 2 to the power of 5.
    Log2(u32),
    /// `~ 32-63`: both ends are inclusive.
    Range(u64, u64),
    /// A name with its number: a symbol and its address, a system call, a program and its process.
    Named {
        /// The name.
        name: String,
        /// The original text in brackets.
        number: String,
    },
    /// A stack, innermost first.
    Stack(Vec<String>),
    /// Any other key: a task's name, an address in hexadecimal digits.
    Text(String),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A count or a sum.
    Count(u64),
    /// `(%)`: in hundredths of a percent of all.
    Percent(u64),
    /// `.graph`: a bar, in twentieths of the largest value.
    Bar(u64),
}

/// A line of the totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// `Totals:`: the totals follow.
    Begin,
    /// How many events were counted.
    Hits(u64),
    /// How many rows there are.
    Entries(u64),
    /// How many events found no room for a new row.
    Dropped(u64),
}

impl Total {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        if line == "Totals:" {
            return Some(Self::Begin);
        }
        let (name, count) = line.split_once(": ")?;
        let count = number(count.trim())?;
        Some(match name {
            "Hits" => Self::Hits(count),
            "Entries" => Self::Entries(count),
            "Dropped" => Self::Dropped(count),
            _ => return None,
        })
    }
}

impl Bin {
    /// Parses a row, whose key may have had several lines. The trigger names the keys, and the values that are hexadecimal.
    pub(super) fn parse(text: &str, trigger: Option<&Trigger>) -> Option<Self> {
        let (names, hex) = trigger.map_or((&[][..], &[][..]), |trigger| (&trigger.keys, &trigger.hex));
        let inner = text.strip_prefix("{ ").or_else(|| text.strip_prefix('{'))?;
        // A task's name may contain a brace: the row's own brace is the last one.
        let (keys, values) = inner.rsplit_once('}')?;
        Some(Self { keys: split_keys(keys.trim_end(), names, hex)?, values: split_values(values, hex)? })
    }
}

/// What the action `snapshot()` of a histogram reports: why the kernel took the snapshot, and for which row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken<'a> {
    /// `Snapshot taken (see tracing/snapshot).  Details:`: the details follow.
    Begin,
    /// `triggering value { onmax($lat) }:        572`.
    At {
        /// The action: `onmax($lat)`.
        action: &'a str,
        /// The value, in the unit of the trigger's variable.
        value: u64,
    },
    /// `triggered by event with key: { next_pid:       2102 }`: the row's keys.
    By(Vec<(String, Key)>),
}

impl<'a> Taken<'a> {
    pub(super) fn parse(line: &'a str, trigger: Option<&Trigger>) -> Option<Self> {
        let line = line.trim();
        if line.starts_with("Snapshot taken (see tracing/snapshot)") {
            return Some(Self::Begin);
        }
        if let Some(rest) = line.strip_prefix("triggering value { ") {
            let (action, value) = rest.split_once(" }:")?;
            return Some(Self::At { action, value: number(value.trim())? });
        }
        let key = line.strip_prefix("triggered by event with key: ")?;
        Bin::parse(key, trigger).map(|bin| Self::By(bin.keys))
    }
}

/// Splits `prev_comm: sh  , prev_pid:  187`. A name may contain the text that separates keys, so the function splits at the names of the
/// keys.
fn split_keys(text: &str, names: &[String], hex: &[String]) -> Option<Vec<(String, Key)>> {
    let mut keys = Vec::new();
    let mut rest = text;
    // The search starts at the end: text inside a task's name comes before the real key that follows the name.
    for name in names.iter().skip(1).rev() {
        let mark = format!(", {name}:");
        let Some(at) = rest.rfind(&mark) else { break };
        let (before, key) = rest.split_at_checked(at)?;
        keys.push((name.clone(), Key::parse(key.get(mark.len()..)?, hex.contains(name))));
        rest = before;
    }
    let (name, key) = rest.split_once(':')?;
    let name = name.trim().to_owned();
    let key = Key::parse(key, hex.contains(&name));
    keys.push((name, key));
    keys.reverse();
    Some(keys)
}

impl Key {
    fn parse(text: &str, hex: bool) -> Self {
        if text.contains('\n') {
            return Self::Stack(
                text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect(),
            );
        }
        let text = text.trim();
        // All digits of a hexadecimal key may be decimal, but it is not a decimal number.
        Self::of(text).filter(|_| !hex).unwrap_or_else(|| Self::Text(text.to_owned()))
    }

    fn of(text: &str) -> Option<Self> {
        if let Some(range) = text.strip_prefix("~ ") {
            return match (range.strip_prefix("2^"), range.split_once('-')) {
                (Some(power), _) => number(power).map(Self::Log2),
                (None, Some((from, to))) => Some(Self::Range(number(from)?, number(to)?)),
                (None, None) => None,
            };
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        // Addresses have 16 digits, which may all be decimal; a decimal number never starts with 0.
        if digits == "0" || (!digits.starts_with('0') && number::<i128>(digits).is_some()) {
            return text.parse().ok().map(Self::Number);
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (address, name) = rest.split_once("] ")?;
            return Some(Self::Named { name: name.trim().into(), number: address.trim().into() });
        }
        let (name, rest) = text.strip_suffix(']')?.rsplit_once('[')?;
        Some(Self::Named { name: name.trim().into(), number: rest.trim().into() })
    }
}

/// Parses ` hitcount:          1  bytes_req:       640`.
fn split_values(text: &str, hex: &[String]) -> Option<Vec<(String, Value)>> {
    let mut values = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once(':')?;
        let (name, percent) = match name.strip_suffix(" (%)") {
            Some(name) => (name, true),
            None => (name, false),
        };
        (!name.is_empty() && !name.contains(char::is_whitespace)).then_some(())?;
        // An empty bar is followed directly by the next name.
        let (value, next) =
            word(behind).filter(|(value, _)| !value.ends_with(':')).unwrap_or(("", behind.trim_start()));
        let bar = value.bytes().all(|byte| byte == b'#');
        let value = if percent {
            Value::Percent(decimal(value, 100)?)
        } else if bar {
            Value::Bar(value.len() as u64)
        } else if hex.iter().any(|one| one == name) {
            Value::Count(u64::from_str_radix(value, 16).ok()?)
        } else {
            Value::Count(number(value)?)
        };
        values.push((name.to_owned(), value));
        rest = next;
    }
    Some(values)
}

/// Parses `    max:         12  next_comm: sh  prev_pid: 12`: what an action saved for the row above.
pub(super) fn saved(line: &str) -> Option<(&str, u64, &str)> {
    let (name, rest) = word(line)?;
    let name = name.strip_suffix(':').filter(|name| matches!(*name, "max" | "changed"))?;
    let (value, rest) = word(rest)?;
    Some((name, number(value)?, rest.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_says_why_and_for_which_row() {
        let read = |line| Taken::parse(line, None);
        assert_eq!(read("  Snapshot taken (see tracing/snapshot).  Details:"), Some(Taken::Begin));
        let at = Taken::At { action: "onmax($wakeup_lat)", value: 572 };
        assert_eq!(read("\ttriggering value { onmax($wakeup_lat) }:        572"), Some(at));
        let by = Taken::By(vec![("next_pid".into(), Key::Number(2102))]);
        assert_eq!(read("\ttriggered by event with key: { next_pid:       2102 }"), Some(by));
        assert_eq!(read("triggering value { onmax($wakeup_lat) }: many"), None);
    }

    /// Hexadecimal digits may all be decimal. A bar must not be read as the number of a value.
    #[test]
    fn the_trigger_says_what_is_hexadecimal() {
        let trigger =
            Trigger { hex: vec!["site".into(), "lat".into()], keys: vec!["site".into()], ..Trigger::default() };
        for (digits, text, value) in [("10", "100", 0x100), ("ffffffff8119a5b1", "7c6", 0x7c6)] {
            let row = format!("{{ site: {digits} }} hitcount:          3  lat:        {text}  size: ##########");
            let bin = Bin::parse(&row, Some(&trigger)).unwrap();
            assert_eq!(bin.keys, [("site".to_owned(), Key::Text(digits.into()))]);
            let values = [("hitcount", Value::Count(3)), ("lat", Value::Count(value)), ("size", Value::Bar(10))];
            assert_eq!(bin.values, values.map(|(name, value)| (name.to_owned(), value)));
        }
    }
}

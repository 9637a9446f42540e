//! A parsed TOML value that knows its place in the text. Reading it gives a value, or a complaint with the place.

use super::source::{At, Place, Problem, Source};
use crate::{suggest::nearest, units::Ns};
use std::{ops::Range, ops::RangeInclusive, str::FromStr};
use toml::{
    Spanned, Value,
    de::{DeTable, DeValue},
};

/// A value in its source.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    source: &'a Source<'a>,
    value: &'a Spanned<DeValue<'a>>,
}

/// A table in its source.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    source: &'a Source<'a>,
    table: &'a DeTable<'a>,
    start: usize,
}

/// One entry of a table.
#[derive(Clone)]
pub struct Entry<'a> {
    /// The key.
    pub key: &'a str,
    /// The place of the key.
    pub span: Range<usize>,
    /// Its value.
    pub value: Node<'a>,
}

impl<'a> Node<'a> {
    /// Returns its place.
    pub fn place(self) -> Place {
        self.source.place(self.value.span())
    }

    /// Returns its line, from 1.
    pub fn line(self) -> usize {
        self.source.line(self.value.span())
    }

    /// A complaint about it.
    pub fn problem(self, message: impl Into<String>) -> Problem {
        self.source.problem(self.value.span(), message)
    }

    /// Attaches its place to a value, for complaints that can only be made later.
    pub fn at<T>(self, it: T) -> At<T> {
        At { it, place: self.place() }
    }

    /// A string; `what` names it in the complaint.
    pub fn text(self, what: &str) -> Result<&'a str, Problem> {
        self.value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.problem(format!("{what} must be a string in quotes, not {}", self.kind())))
    }

    /// Returns the string, if it is one.
    pub fn as_text(self) -> Option<&'a str> {
        self.value.get_ref().as_str()
    }

    /// A whole number within bounds.
    pub fn number(self, what: &str, bounds: RangeInclusive<i64>) -> Result<i64, Problem> {
        let (low, high) = (bounds.start(), bounds.end());
        let DeValue::Integer(digits) = self.value.get_ref() else {
            return Err(self.problem(format!("{what} must be a whole number, not {}", self.kind())));
        };
        match i64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(number) if bounds.contains(&number) => Ok(number),
            _ => Err(self.problem(format!("{what} must be from {low} to {high}, not {digits}"))),
        }
    }

    /// A number within bounds, whole or not.
    pub fn real(self, what: &str, bounds: RangeInclusive<f64>) -> Result<f64, Problem> {
        let number = match self.value.get_ref() {
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix()).ok().map(|n| n as f64),
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            _ => return Err(self.problem(format!("{what} must be a number, not {}", self.kind()))),
        };
        let (low, high) = (bounds.start(), bounds.end());
        let outside = || self.problem(format!("{what} must be from {low} to {high}, not {}", self.kind()));
        number.filter(|number| bounds.contains(number)).ok_or_else(outside)
    }

    /// A text for people: some visible words, at most 1000 characters.
    pub fn sentence(self, what: &str) -> Result<String, Problem> {
        let text = self.text(what)?;
        match text.trim().is_empty() || text.chars().count() > 1000 {
            true => Err(self.problem(format!("{what} must be 1 to 1000 characters"))),
            false => Ok(text.into()),
        }
    }

    /// A short name of plain characters, which becomes part of the thing that `of` names.
    pub fn name(self, of: &str) -> Result<String, Problem> {
        let name = self.text("name")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let first = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !first || name.len() > 40 || !name.chars().all(plain) {
            let rule = "1 to 40 letters, digits, `-`, `_` or `.`, the first a letter or digit";
            return Err(self.problem(format!("the name becomes part of the {of}: {rule}")));
        }
        Ok(name.into())
    }

    /// A span of time with its unit.
    pub fn time(self, what: &str) -> Result<Ns, Problem> {
        match self.value.get_ref() {
            DeValue::Integer(n) => {
                Err(self.problem(format!("{what}: {n} has no unit: write \"{n}us\", \"{n}ms\" or \"{n}s\"")))
            }
            DeValue::String(text) => Ns::from_str(text).map_err(|error| self.problem(format!("{what}: {error}"))),
            _ => Err(self.problem(format!("{what} must be a span of time such as \"500us\", not {}", self.kind()))),
        }
    }

    /// A span of time longer than zero.
    pub fn positive_time(self, what: &str) -> Result<Ns, Problem> {
        match self.time(what)? {
            Ns(0) => Err(self.problem(format!("{what} must be longer than 0"))),
            time => Ok(time),
        }
    }

    /// The elements of an array, if it is one.
    pub fn as_array(self) -> Option<Vec<Node<'a>>> {
        let elements = self.value.get_ref().as_array()?;
        Some(elements.iter().map(|value| Node { source: self.source, value }).collect())
    }

    /// The elements of an array.
    pub fn array(self, what: &str) -> Result<Vec<Node<'a>>, Problem> {
        self.as_array()
            .ok_or_else(|| self.problem(format!("{what} must be an array in [brackets], not {}", self.kind())))
    }

    /// The tables written with double brackets, `[[group]]`; at most `most` of them.
    pub fn tables(self, key: &str, most: usize) -> Result<Vec<Keys<'a>>, Problem> {
        let tables = self.as_array().ok_or_else(|| self.problem(format!("write [[{key}]], in double brackets")))?;
        match tables.get(most) {
            Some(extra) => Err(extra.problem(format!("a plan has at most {most} of [[{key}]]"))),
            None => tables.into_iter().map(|table| table.table(key)).collect(),
        }
    }

    /// The elements of an array that is not empty.
    pub fn levels(self, what: &str) -> Result<Vec<Node<'a>>, Problem> {
        let levels = self.array(what)?;
        if levels.is_empty() {
            return Err(self.problem(format!("{what} names no level: an empty axis has no cells")));
        }
        Ok(levels)
    }

    /// A table.
    pub fn table(self, what: &str) -> Result<Keys<'a>, Problem> {
        match self.value.get_ref().as_table() {
            Some(table) => Ok(Keys { source: self.source, table, start: self.value.span().start }),
            None => Err(self.problem(format!("{what} must be a table in {{braces}}, not {}", self.kind()))),
        }
    }

    /// A copy without places.
    pub fn plain(self) -> Result<Value, Problem> {
        let inner = |value| Node { source: self.source, value };
        Ok(match self.value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(yes) => Value::Boolean(*yes),
            DeValue::Datetime(time) => Value::Datetime(*time),
            DeValue::Integer(digits) => {
                let number = i64::from_str_radix(digits.as_str(), digits.radix());
                Value::Integer(number.map_err(|_| self.problem(format!("the number {digits} is too large")))?)
            }
            DeValue::Float(digits) => match digits.as_str().parse::<f64>() {
                Ok(number) if number.is_finite() => Value::Float(number),
                _ => return Err(self.problem(format!("{digits} is not a finite number"))),
            },
            DeValue::Array(values) => {
                Value::Array(values.iter().map(|value| inner(value).plain()).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => {
                let entry = |(key, value): (&Spanned<_>, _)| -> Result<_, Problem> {
                    let key: &std::borrow::Cow<str> = key.get_ref();
                    Ok((key.to_string(), inner(value).plain()?))
                };
                Value::Table(table.iter().map(entry).collect::<Result<_, _>>()?)
            }
        })
    }

    fn kind(self) -> String {
        match self.value.get_ref() {
            DeValue::Integer(n) => n.to_string(),
            DeValue::Float(n) => n.to_string(),
            DeValue::String(text) if text.chars().count() <= 40 => format!("{text:?}"),
            DeValue::String(_) => "a long string".into(),
            DeValue::Boolean(yes) => format!("{yes}"),
            DeValue::Datetime(_) => "a date".into(),
            DeValue::Array(_) => "an array".into(),
            DeValue::Table(_) => "a table".into(),
        }
    }
}

impl Entry<'_> {
    /// A complaint about the key.
    pub fn key_problem(&self, message: impl Into<String>) -> Problem {
        self.value.source.problem(self.span.clone(), message)
    }
}

impl<'a> Keys<'a> {
    /// The top of a document.
    pub fn document(source: &'a Source<'a>, table: &'a DeTable<'a>) -> Self {
        Self { source, table, start: 0 }
    }

    /// A complaint about the whole table.
    pub fn problem(self, message: impl Into<String>) -> Problem {
        self.place().problem(message)
    }

    /// Where it starts.
    pub fn place(self) -> Place {
        self.source.place(self.start..self.start)
    }

    /// The line in which it starts, from 1.
    pub fn line(self) -> usize {
        self.source.line(self.start..self.start)
    }

    /// The value of a key.
    pub fn get(self, key: &str) -> Option<Node<'a>> {
        self.table.get(key).map(|value| Node { source: self.source, value })
    }

    /// The value of a key that must be there.
    pub fn need(self, what: &str, key: &str) -> Result<Node<'a>, Problem> {
        self.get(key).ok_or_else(|| self.problem(format!("{what} needs the key `{key}`")))
    }

    /// The entries in the order of the file.
    pub fn entries(self) -> Vec<Entry<'a>> {
        let entry = |(key, value): (&'a Spanned<std::borrow::Cow<'a, str>>, &'a _)| Entry {
            key: key.get_ref(),
            span: key.span(),
            value: Node { source: self.source, value },
        };
        let mut entries: Vec<_> = self.table.iter().map(entry).collect();
        entries.sort_by_key(|entry| entry.span.start);
        entries
    }

    /// Refuses the first key that is not one of these.
    pub fn only(self, what: &str, known: &[&str]) -> Result<(), Problem> {
        match self.entries().iter().find(|entry| !known.contains(&entry.key)) {
            None => Ok(()),
            Some(entry) => {
                let hint = nearest(entry.key, known.iter().copied());
                let message = format!("{what} has no key `{}`{hint}; its keys are {}", entry.key, known.join(", "));
                Err(entry.key_problem(message))
            }
        }
    }
}

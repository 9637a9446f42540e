//! Lines of other tools, which declare nothing: a series starts with its first sample.

use super::{
    Bad, Declared, Form, Lines, SERIES, Sink, TimeOf, Unit,
    declared::name,
    number::{decimal, whole},
};
use crate::formats::{csv, ndjson};

/// The longest line of another tool, in bytes.
const LONGEST: usize = 4096;

/// The unit where the lines do not give it.
const USUAL: Unit = Unit::Us;

pub(super) struct Foreign {
    form: Form,
    unit: Option<Unit>,
    /// The columns of a CSV header.
    columns: Option<Vec<String>>,
    /// The series so far; their declarations distinguish them.
    series: Vec<Seen>,
}

struct Seen {
    declared: Declared,
    /// The last cycle (only cyclictest).
    cycle: Option<u64>,
}

impl Foreign {
    pub fn new(form: Form, unit: Option<Unit>) -> Self {
        Self { form, unit, columns: None, series: Vec::new() }
    }

    /// Returns the number of a series, and declares the series if it is new.
    fn number(&mut self, declared: Declared, sink: &mut impl Sink) -> Result<usize, Bad> {
        if let Some(known) = self.series.iter().position(|seen| seen.declared == declared) {
            return Ok(known);
        }
        if self.series.len() >= SERIES {
            return Err(Bad::Series);
        }
        sink.series(self.series.len(), declared.clone());
        self.series.push(Seen { declared, cycle: None });
        Ok(self.series.len() - 1)
    }

    /// Reads `thread:cycle:value`, with blanks around each. Other output before and after does not begin with a digit.
    fn cyclictest(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), Bad> {
        let line = line.trim_ascii();
        let mut fields = line.split(|byte| *byte == b':').map(<[u8]>::trim_ascii);
        let (thread, cycle) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let Some(value) = fields.next().filter(|_| line.first().is_some_and(u8::is_ascii_digit)) else {
            // A torn line begins with a digit too, but lacks fields.
            return if line.first().is_some_and(u8::is_ascii_digit) { Err(Bad::Words) } else { Ok(()) };
        };
        let (thread, cycle) = (whole(thread).ok_or(Bad::Number)?, whole(cycle).ok_or(Bad::Number)?);
        let unit = self.unit.unwrap_or(USUAL);
        let value = decimal(value, unit.factor()).ok_or(Bad::Number)?;
        let mut declared = Declared::of("latency", unit);
        declared.labels.insert("thread".into(), thread.to_string());
        let number = self.number(declared, sink)?;
        let Some(seen) = self.series.get_mut(number) else { return Err(Bad::Series) };
        // Either cyclictest's ring was overwritten, or each line is the maximum of several cycles (`-o`). In both cases the cycles in
        // between are lost.
        let lost = seen.cycle.replace(cycle).map_or(0, |last| cycle.saturating_sub(last).saturating_sub(1));
        if lost > 0 {
            sink.dropped(number, lost);
        }
        sink.sample(number, value, None);
        Ok(())
    }

    /// Reads `thread;seconds;value`; the time is CLOCK_MONOTONIC at the wake-up.
    fn jitterdebugger(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), Bad> {
        let mut fields = line.trim_ascii().split(|byte| *byte == b';');
        let (Some(thread), Some(at), Some(value), None) = (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(Bad::Words);
        };
        let unit = self.unit.unwrap_or(USUAL);
        let thread = whole(thread).ok_or(Bad::Number)?;
        let at = decimal(at, 1_000_000_000).and_then(|at| u64::try_from(at).ok()).ok_or(Bad::Number)?;
        let value = decimal(value, unit.factor()).ok_or(Bad::Number)?;
        let mut declared = Declared { clock: TimeOf::Monotonic, ..Declared::of("latency", unit) };
        declared.labels.insert("thread".into(), thread.to_string());
        let number = self.number(declared, sink)?;
        sink.sample(number, value, Some(at));
        Ok(())
    }

    fn csv(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), Bad> {
        let line = line.trim_ascii();
        let Some(columns) = self.columns.clone() else {
            let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            self.columns = Some(csv::header(line).ok_or(Bad::Words)?);
            return Ok(());
        };
        let fields = csv::fields(line).map_err(|_| Bad::Words)?;
        if fields.len() != columns.len() {
            return Err(Bad::Words);
        }
        self.keyed(columns.iter().map(String::as_str).zip(fields.iter().map(|field| field.trim())), sink)
    }

    fn ndjson(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), Bad> {
        let object: ndjson::Object<'_> = serde_json::from_slice(line).map_err(|_| Bad::Words)?;
        let pairs = ndjson::pairs(&object).map_err(|_| Bad::Words)?;
        self.keyed(pairs.iter().map(|(key, value)| (*key, value.as_ref())), sink)
    }

    /// Reads `value` or `value_UNIT`, and optionally `unit`, `at_ns`, `cpu` and `quantity`; all other fields, including `thread`, are
    /// labels.
    fn keyed<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, &'a str)>, sink: &mut impl Sink) -> Result<(), Bad> {
        let (mut value, mut unit, mut at, mut quantity) = (None, None, None, None);
        let mut declared = Declared::of("latency", USUAL);
        for (key, text) in pairs.filter(|(_, text)| !text.is_empty()) {
            let number = || whole(text.as_bytes()).ok_or(Bad::Number);
            let again = match key {
                "value" => value.replace(text).is_some(),
                "unit" => unit.replace(Unit::named(text).ok_or(Bad::Words)?).is_some(),
                "at_ns" => at.replace(number()?).is_some(),
                "cpu" => declared.cpu.replace(u32::try_from(number()?).map_err(|_| Bad::Number)?).is_some(),
                "quantity" => quantity.replace(name(text).ok_or(Bad::Words)?).is_some(),
                _ => match key.strip_prefix("value_") {
                    Some(of) => {
                        unit.replace(Unit::named(of).ok_or(Bad::Words)?).is_some() || value.replace(text).is_some()
                    }
                    None => declared.labels.insert(name(key).ok_or(Bad::Words)?, text.to_owned()).is_some(),
                },
            };
            // A second value would hide the first.
            if again {
                return Err(Bad::Words);
            }
        }
        declared.quantity = quantity.unwrap_or(declared.quantity);
        let unit = unit.or(self.unit);
        // The lines do not say on which clock their times are.
        declared.clock = if at.is_some() { TimeOf::Device } else { TimeOf::None };
        declared.unit = unit.ok_or(Bad::Words)?;
        let value = decimal(value.ok_or(Bad::Words)?.as_bytes(), declared.unit.factor()).ok_or(Bad::Number)?;
        let number = self.number(declared, sink)?;
        sink.sample(number, value, at);
        Ok(())
    }
}

impl Lines for Foreign {
    fn line(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), Bad> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        match self.form {
            Form::Csv => self.csv(line, sink),
            Form::Ndjson => self.ndjson(line, sink),
            Form::Jitterdebugger => self.jitterdebugger(line, sink),
            Form::CyclictestV | Form::Latido => self.cyclictest(line, sink),
        }
    }

    fn plain<'a>(&mut self, bytes: &'a [u8], _: &mut impl Sink) -> (u64, &'a [u8]) {
        (0, bytes)
    }

    fn longest(&self) -> usize {
        LONGEST
    }
}

//! The fields of an event's record, from the kernel's own description (`events/SYSTEM/EVENT/format`, Documentation/trace/events.rst).
//! latido trusts the offset, size and sign, but not the C type.

use crate::bytes::{Bad, Endian};
use std::fmt::Write;

/// The format of an event's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The number in its first two bytes.
    pub id: u16,
    /// The event's name: `sched_switch`.
    pub name: String,
    /// Its fields, the common ones first.
    pub fields: Vec<Field>,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name: `prev_comm`.
    pub name: String,
    /// The C type and the name as declared, for people.
    pub declared: String,
    /// Its offset in the record, in bytes.
    pub at: usize,
    /// Its size in bytes; 0 for a field that takes the rest of the record.
    pub size: usize,
    /// Whether it may be negative.
    pub signed: bool,
    /// Where its bytes are.
    pub place: Place,
}

/// Where the bytes of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the field itself.
    Here,
    /// Elsewhere in the record: the low half of the field's word is the offset from the start of the record, the high half is the length.
    Elsewhere,
    /// The same, with the offset counted from the end of the field.
    Behind,
}

/// The greatest end of a field in a record that latido accepts, in bytes.
const LONGEST: usize = 1 << 24;

/// The most fields that latido accepts in an event.
const MOST_FIELDS: usize = 1024;

impl Format {
    /// Parses the text of a `format` file.
    ///
    /// # Errors
    /// The name or the number is missing, or a field has no valid place in a record.
    pub fn parse(text: &str) -> Result<Self, Bad> {
        let (mut name, mut id, mut fields) = (None, None, Vec::new());
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let begin = at;
            at += line.len();
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("name:") {
                name = Some(rest.trim().to_owned());
            } else if let Some(rest) = line.strip_prefix("ID:") {
                let number = rest.trim().parse();
                id = Some(
                    number.map_err(|_| Bad::new(begin, format!("`{}` is not the number of an event", rest.trim())))?,
                );
            } else if line.starts_with("print fmt:") {
                break;
            } else if let Some(rest) = line.strip_prefix("field:") {
                if fields.len() >= MOST_FIELDS {
                    return Err(Bad::new(begin, format!("more than {MOST_FIELDS} fields")));
                }
                let field = Field::parse(rest);
                fields.push(field.ok_or_else(|| Bad::new(begin, format!("`{line}` is not a field inside a record")))?);
            }
        }
        match (name, id) {
            (Some(name), Some(id)) => Ok(Self { id, name, fields }),
            _ => Err(Bad::new(0, "a format without a name and a number")),
        }
    }

    /// Returns a field by its name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns a record as text: `sched_waking comm=sh pid=7 …`, without the common fields. Bytes that are not text are shown as numbers.
    pub fn describe(&self, record: &[u8], endian: Endian) -> String {
        let mut text = self.name.clone();
        for field in self.fields.iter().filter(|field| !field.name.starts_with("common_")) {
            let value = match self.number(&field.name, endian) {
                Some(number) => number.of(record).map(|value| field.written(value)),
                None => {
                    field.text(record, endian).map(|text| text.chars().filter(|c| !c.is_control()).take(64).collect())
                }
            };
            let _ = write!(text, " {}={}", field.name, value.as_deref().unwrap_or("?"));
        }
        text
    }

    /// Returns a field that is a number.
    pub fn number(&self, name: &str, endian: Endian) -> Option<Number> {
        let field = self.field(name).filter(|field| field.place == Place::Here)?;
        matches!(field.size, 1 | 2 | 4 | 8).then(|| Number::of_field(field, endian))
    }

    /// Returns such a field as an `int`, if it has four bytes or eight.
    pub(crate) fn int(&self, name: &str, endian: Endian) -> Option<Int> {
        let field = self.field(name).filter(|field| field.place == Place::Here)?;
        let at = match (field.size, endian) {
            (4, _) | (8, Endian::Little) => field.at,
            (8, Endian::Big) => field.at + 4,
            _ => return None,
        };
        Some(Int { at: u16::try_from(at).ok()? })
    }
}

/// The low four bytes of a number in a record. Pairing reads of most events only an `int`, or a number that fits in one. Reading it takes a
/// third of the work of [`Number`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Int {
    at: u16,
}

impl Int {
    /// Returns its value, or `None` if the record is too short.
    #[inline(always)]
    pub fn of(self, record: &[u8], endian: Endian) -> Option<i32> {
        let at = usize::from(self.at);
        Some(endian.word(*record.get(at..at + 4)?.first_chunk()?).cast_signed())
    }
}

impl Field {
    /// Parses `char prev_comm[16]; offset:8; size:16; signed:0;`, with tabs between the parts.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let declared = parts.next()?.to_owned();
        let (mut at, mut size, mut signed) = (None, None, false);
        for part in parts {
            let number = |key: &str| part.strip_prefix(key)?.trim().parse::<usize>().ok();
            at = at.or_else(|| number("offset:"));
            size = size.or_else(|| number("size:"));
            signed |= number("signed:").is_some_and(|signed| signed != 0);
        }
        let (at, size) = (at?, size?);
        at.checked_add(size).filter(|end| *end <= LONGEST)?;
        let word = declared.rsplit([' ', '*']).next()?;
        let name = word.split('[').next().filter(|name| !name.is_empty())?.to_owned();
        let place = if declared.starts_with("__data_loc ") {
            Place::Elsewhere
        } else if declared.starts_with("__rel_loc ") {
            Place::Behind
        } else {
            Place::Here
        };
        (place == Place::Here || size == 4).then_some(())?;
        Some(Self { name, declared, at, size, signed, place })
    }

    /// Formats one of its numbers; addresses in hexadecimal.
    fn written(&self, value: i64) -> String {
        if self.declared.contains('*') || (self.size == 8 && self.declared.starts_with("unsigned long")) {
            format!("{:#x}", value.cast_unsigned())
        } else {
            value.to_string()
        }
    }

    /// Returns its bytes in a record, or `None` if the record is too short for them.
    pub fn bytes<'a>(&self, record: &'a [u8], endian: Endian) -> Option<&'a [u8]> {
        match self.place {
            Place::Here if self.size == 0 => record.get(self.at..),
            Place::Here => record.get(self.at..self.at.checked_add(self.size)?),
            Place::Elsewhere | Place::Behind => {
                let word = endian.u32(record, self.at)?;
                let (offset, length) = ((word & 0xffff) as usize, (word >> 16) as usize);
                let from = if self.place == Place::Behind { self.at + 4 } else { 0 };
                record.get(from + offset..from + offset + length)
            }
        }
    }

    /// Returns it as text, up to a NUL.
    pub fn text<'a>(&self, record: &'a [u8], endian: Endian) -> Option<std::borrow::Cow<'a, str>> {
        let bytes = self.bytes(record, endian)?;
        let text = bytes.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text))
    }
}

/// A number in a record, for fast reading: latido reads the eight bytes that end with the number, and shifts out the other bytes in them.
/// The size of the number causes no branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// The offset of the eight bytes.
    from: usize,
    /// The number of bits by which the bytes above it are shifted out.
    left: u32,
    /// The number of bits by which it is then shifted right, with its sign.
    right: u32,
    /// The bits that count after that: all bits if it is signed, otherwise its own bits.
    mask: i64,
    endian: Endian,
    /// The offset of the number itself: a record may be shorter than eight bytes.
    at: usize,
    size: usize,
}

impl Number {
    fn of_field(field: &Field, endian: Endian) -> Self {
        let Field { at, size, signed, .. } = *field;
        let from = (at + size).saturating_sub(8);
        // Bytes of the word before and after the field. At the start of a record, bytes after the field may be in the word.
        let (before, right) = (at - from, 8 * (8 - size as u32));
        let behind = 8 - size - before;
        let left = match endian {
            Endian::Little => behind,
            Endian::Big => before,
        };
        // Eight bytes without a sign wrap around.
        let mask = if signed || size == 8 { -1 } else { (u64::MAX >> right).cast_signed() };
        Self { from, left: 8 * left as u32, right, mask, endian, at, size }
    }

    /// Returns its value, or `None` if the record is too short. An unsigned field of eight bytes wraps above half of its range.
    #[inline]
    pub fn of(self, record: &[u8]) -> Option<i64> {
        let Some(word) = self.endian.u64(record, self.from) else { return self.of_short(record) };
        Some(self.value(word << self.left))
    }

    #[inline(always)]
    fn value(&self, top: u64) -> i64 {
        top.cast_signed() >> self.right & self.mask
    }

    #[cold]
    fn of_short(&self, record: &[u8]) -> Option<i64> {
        let bytes = record.get(self.at..self.at + self.size)?;
        Some(self.value(self.endian.number(bytes)? << self.right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SWITCH: &str = "name: sched_switch\nID: 316\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:__data_loc char[] filename;\toffset:40;\tsize:4;\tsigned:0;\n\
        \tfield:__rel_loc char[] rest;\toffset:44;\tsize:4;\tsigned:0;\n\
        \tfield:const char * fmt;\toffset:48;\tsize:8;\tsigned:0;\n\
        \tfield:u32 buf[];\toffset:56;\tsize:0;\tsigned:0;\n\n\
        print fmt: \"field:not one;\"\n";

    #[test]
    fn a_record_is_read_as_its_format_says() {
        let format = Format::parse(SWITCH).unwrap();
        assert_eq!((format.id, format.name.as_str(), format.fields.len()), (316, "sched_switch", 8));
        let names: Vec<&str> = format.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["common_type", "common_pid", "prev_comm", "prev_state", "filename", "rest", "fmt", "buf"]);
        let mut record = vec![0; 68];
        record[4..8].copy_from_slice(&(-7i32).to_le_bytes());
        record[8..12].copy_from_slice(b"sh\0x");
        record[40..44].copy_from_slice(&(60u32 | 4 << 16).to_le_bytes());
        record[44..48].copy_from_slice(&(12u32 | 3 << 16).to_le_bytes());
        record[60..64].copy_from_slice(b"abc\0");
        let endian = Endian::Little;
        assert_eq!(format.number("common_pid", endian).unwrap().of(&record), Some(-7));
        assert_eq!(format.number("common_pid", endian).unwrap().of(&record[..7]), None);
        let text = |name: &str| format.field(name).unwrap().text(&record, endian).unwrap().into_owned();
        assert_eq!((text("prev_comm"), text("filename"), text("rest")), ("sh".into(), "abc".into(), "abc".into()));
        assert_eq!(format.field("buf").unwrap().bytes(&record, endian).unwrap().len(), 12);
        // A word that points outside of the record gives no bytes.
        record[40..44].copy_from_slice(&(60u32 | 400 << 16).to_le_bytes());
        assert_eq!(format.field("filename").unwrap().bytes(&record, endian), None);
    }

    #[test]
    fn what_is_no_format_is_refused_at_its_place() {
        for (text, what) in [
            ("", "without a name"),
            ("name: x\nID: 70000\n", "`70000` is not the number"),
            ("name: x\nID: 7\nfield:int a;\toffset:1;\n", "is not a field"),
            ("name: x\nID: 7\nfield:int a;\toffset:99999999999;\tsize:4;\n", "is not a field"),
        ] {
            let bad = Format::parse(text).unwrap_err();
            assert!(bad.what.contains(what), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_and_record_end(text in "(name: a\n|ID: 3\n|field:[a-z_ *\\[\\]]{0,12};offset:[0-9]{0,3};size:[0-9]{0,2};signed:[01];\n|.{0,9}\n){0,9}",
            record in proptest::collection::vec(any::<u8>(), 0..99)) {
            if let Ok(format) = Format::parse(&text) {
                for field in &format.fields {
                    let _ = field.text(&record, Endian::Big);
                    let _ = format.number(&field.name, Endian::Little).and_then(|number| number.of(&record));
                }
            }
        }
    }
}

//! The option `size`: one number or a list of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Sizes in the order of measurement, written as `64` or `"2,4,8"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<usize>);

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&words.join(","))
    }
}

impl Sizes {
    fn read(text: &str) -> Result<Self, String> {
        let mut sizes = Vec::new();
        for word in text.split(',').map(str::trim) {
            let size: usize = word.parse().map_err(|_| format!("`{word}` is not a size; write 64 or \"2,4,8\""))?;
            if !(2..=1024).contains(&size) {
                return Err(format!("a size is 2 to 1024 rows, not {size}"));
            }
            if sizes.contains(&size) {
                return Err(format!("the size {size} is given twice"));
            }
            sizes.push(size);
        }
        Ok(Self(sizes))
    }
}

impl Serialize for Sizes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizesVisitor;
        impl serde::de::Visitor<'_> for SizesVisitor {
            type Value = Sizes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as 64, or a list such as \"2,4,8\"")
            }

            fn visit_i64<E: serde::de::Error>(self, size: i64) -> Result<Sizes, E> {
                Sizes::read(&size.to_string()).map_err(E::custom)
            }

            fn visit_u64<E: serde::de::Error>(self, size: u64) -> Result<Sizes, E> {
                Sizes::read(&size.to_string()).map_err(E::custom)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Sizes, E> {
                Sizes::read(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SizesVisitor)
    }
}

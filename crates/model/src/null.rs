//! Stores a value that was not measured as null. Such a value equals its type's default, which no measured value does.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes null for the default.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: Serialize + Default + PartialEq, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    if *value == T::default() { to.serialize_none() } else { value.serialize(to) }
}

/// Reads null as the default.
///
/// # Errors
/// Those of the deserializer.
pub fn deserialize<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

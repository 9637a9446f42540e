//! A value that was not measured is stored as null: what equals its default, where no measured one does.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Null for the default.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: Serialize + Default + PartialEq, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    if *value == T::default() { to.serialize_none() } else { value.serialize(to) }
}

/// The default for null.
///
/// # Errors
/// Those of the deserializer.
pub fn deserialize<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

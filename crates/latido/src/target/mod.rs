//! The machine measured. For now this one.

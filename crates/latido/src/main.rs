//! The `latido` command.
fn main() {}

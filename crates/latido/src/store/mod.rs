//! The store: where runs lie, how they are written and found again.

mod durable;
mod files;
mod incoming;
mod read;
mod root;
#[cfg(test)]
mod tests;
mod write;

pub use incoming::Incoming;
pub use read::{Listing, list_runs, read, series_data};
pub use root::{find, root};
pub use write::{Contents, Draft, New, check_name, is_done};

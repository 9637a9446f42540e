//! The store: where runs are, and how latido writes and finds them.

pub mod baselines;
pub mod earlier;
mod files;
mod in_parts;
mod incoming;
mod read;
mod root;
mod runs;
mod stored;
#[cfg(test)]
mod tests;
mod traces;
mod write;

pub use files::{bytes, plan_text, text_beside};
pub use incoming::{Incoming, check_name};
pub use read::{Listing, directories, list_runs, list_runs_in, read};
pub use root::{find, root};
pub use stored::{distribution, distribution_and_largest, series_data};
pub use traces::{Source, trace};
pub use write::{Contents, Draft, New, Todo, is_done, is_kept, remove};

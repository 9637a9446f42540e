//! The text of tracefs: latido reads the content of `trace`, `trace_pipe` and the events' `hist` files line by line.
//!
//! The forms are those of the kernel's Documentation/trace/ftrace.rst, osnoise-tracer.rst, timerlat-tracer.rst, hwlat_detector.rst and
//! histogram.rst. latido reads the flags and columns from the drawing in the header, because kernels differ. `trace_pipe` has no drawing,
//! so latido reads it by the forms alone. One module ([`clean`]) first removes what mail, terminals and other systems added to a line.
//! Whatever the bytes contain, the code does not panic, and a line uses at most 16 KiB of memory. latido passes on a line that it does not
//! understand as unknown, and counts it.

pub mod clean;
mod durations;
mod event;
mod gaps;
mod graph;
mod happened;
mod header;
mod histogram;
mod line;
mod lines;
mod perf;
mod reader;
mod report;
mod scan;
mod summary;
mod tracers;
mod wrapped;

pub use durations::{Durations, Noises, Tally};
pub use event::{Body, Event, Mark, SystemCall, Time};
pub use gaps::{Gap, Gaps};
pub use graph::{Call, Graph};
pub use happened::{Input, Names, pair};
pub use header::{Columns, Flag, Form, GraphColumn, Header, Latency, Trigger};
pub use histogram::{Bin, Key, Taken, Total, Value};
pub use line::{Line, Seen};
pub use reader::Reader;
pub use summary::{Capped, Entries, Reading, Saved, Snapshot, Summary, Turned};
pub(crate) use tracers::NOISES;
pub use tracers::{Context, Hwlat, Noise, Osnoise, Party, Timerlat, Turn};

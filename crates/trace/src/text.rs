//! The text of tracefs: what `trace`, `trace_pipe` and the `hist` files of events say, read line by line.
//!
//! The forms are those of Documentation/trace/ftrace.rst, osnoise-tracer.rst, timerlat-tracer.rst, hwlat_detector.rst and
//! histogram.rst of the kernel. Which flags and columns there are is read from the drawing in the header, since kernels
//! differ; `trace_pipe` draws none, and is read by the forms alone. What a line went through on its way (mail, terminals, other
//! systems) is cut away first, in one place ([`clean`]). Whatever the bytes say, nothing panics, a line holds at
//! most 16 KiB of memory, and what is not understood is given as such and counted.

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

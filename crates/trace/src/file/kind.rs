//! The kinds of sections and options of version 7 (trace-cmd.dat.v7(5)).

/// The options themselves, as a section.
pub const OPTIONS: u16 = 0;
/// The last option of a section.
pub const DONE: u16 = 0;
/// The time of day at the clock's zero, in microseconds.
pub const DATE: u16 = 1;
/// The counts of a CPU's ring.
pub const CPUSTAT: u16 = 2;
/// A ring: its section, and the option that describes it.
pub const BUFFER: u16 = 3;
/// The clock.
pub const TRACECLOCK: u16 = 4;
/// The description of the system.
pub const UNAME: u16 = 5;
/// The offset that is added to every time.
pub const OFFSET: u16 = 7;
/// How many CPUs the machine has.
pub const CPUCOUNT: u16 = 8;
/// The program that recorded the file.
pub const VERSION: u16 = 9;
/// The conversion of a guest's times to its host's.
pub const TIME_SHIFT: u16 = 12;
/// The conversion of ticks to ns.
pub const TSC2NSEC: u16 = 14;
/// The layout of pages and events.
pub const HEADER_INFO: u16 = 16;
/// The formats of the tracers' own events.
pub const FTRACE_EVENTS: u16 = 17;
/// The formats of the events of all systems.
pub const EVENT_FORMATS: u16 = 18;
/// The kernel's symbols.
pub const KALLSYMS: u16 = 19;
/// The formats of trace_printk.
pub const PRINTK: u16 = 20;
/// The names of tasks.
pub const CMDLINES: u16 = 21;
/// The text of a latency tracer.
pub const BUFFER_TEXT: u16 = 22;

/// The length of a section's head in bytes.
pub const HEAD: u64 = 16;

//! Tests that measure in real time or read the kernel's events: one at a time.

mod blocks;
mod calls;
mod checkpoint;
mod hog;
mod hostile_loads;
mod hostile_outputs;
mod hostile_programs;
mod hostile_text;
mod interference;
mod interrupt;
mod interrupt_sources;
mod looking_on;
mod measure;
mod memory;
mod periods;
mod tasks;
mod trace_ends;
mod trace_explain;
mod trace_record;
mod tracing;

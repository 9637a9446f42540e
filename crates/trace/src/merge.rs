//! The events of several CPUs in the order of time.

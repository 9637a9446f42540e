//! What a probe finds in the measuring process: its cell, its CPUs, its threads, and where its series go.

/// The measuring process as a probe sees it.
pub struct Stage {}

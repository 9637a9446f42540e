//! Standard output, and that its reader may go away.

use anyhow::Result;
use std::io::{self, Write};

/// Whether the reader of our output went away.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(broken)
}

/// Writes a text to stdout; the exit status of a command that has done all with it.
///
/// # Errors
/// It cannot be written.
pub fn write_out(text: &str) -> Result<u8> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(0)
}

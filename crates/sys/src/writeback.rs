//! When written data goes to the disk.

use crate::Errno;
use std::{fs::File, os::fd::AsRawFd};

/// Begins to write to the disk what was written to a file, and does not wait for it: of many files whose end is waited for
/// afterwards, one commit of the file system then takes all (sync_file_range(2), `SYNC_FILE_RANGE_WRITE`).
///
/// # Errors
/// As the man page says; `ESPIPE` of what is no file of a disk. Nothing is lost by it: it is `sync_all` that waits.
pub fn begin(file: &File) -> Result<(), Errno> {
    // SAFETY: takes numbers only; 0 and 0 are the whole file.
    Errno::check(unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// A file stays what it is, and a pipe is refused.
    #[test]
    fn files_alone_are_written() {
        let path = std::env::temp_dir().join(format!("latido-writeback-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.write_all(b"kept").unwrap();
        begin(&file).unwrap();
        file.sync_all().unwrap();
        let mut text = String::new();
        File::open(&path).unwrap().read_to_string(&mut text).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text, "kept");
        let (_reader, writer) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(writer));
        assert!(begin(&pipe).is_err());
    }
}

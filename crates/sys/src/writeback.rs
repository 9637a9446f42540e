//! Controls when written data goes to the disk.

use crate::Errno;
use std::{fs::File, os::fd::AsRawFd};

/// Starts to write a file's data to the disk and does not wait. If a caller does this for many files and then waits for each, one commit of
/// the file system covers all of them (sync_file_range(2), `SYNC_FILE_RANGE_WRITE`).
///
/// # Errors
/// As the man page says; `ESPIPE` for a file that is not on a disk. An error loses nothing: `sync_all` does the waiting.
pub fn begin(file: &File) -> Result<(), Errno> {
    // SAFETY: takes numbers only; 0 and 0 mean the whole file.
    Errno::check(unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// `begin` must not change a file, and must refuse a pipe.
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

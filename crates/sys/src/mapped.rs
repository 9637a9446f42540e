//! A file mapped into memory (mmap(2)): latido reads gigabytes in place, and the kernel can evict all of it.

use crate::Errno;
use std::{
    fmt,
    fs::File,
    ops::Deref,
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    ptr::NonNull,
    sync::Once,
};

/// A whole file, read-only. If a program truncates the file meanwhile, the kernel answers a read of the missing part with SIGBUS: this
/// process then prints a message and ends with status 1.
pub struct Mapped {
    at: NonNull<u8>,
    length: usize,
}

static HANDLED: Once = Once::new();

/// The message for a truncated file.
const CUT: &str = "error: a file became shorter while latido read it: try again when no program writes it\n";

extern "C" fn cut(_: libc::c_int) {
    // SAFETY: a handler may write and end the process (signal-safety(7)); the text is static.
    unsafe {
        libc::write(2, CUT.as_ptr().cast(), CUT.len());
        libc::_exit(1);
    }
}

/// Makes this process print a message before it ends because a mapped file was truncated.
fn handle() {
    // SAFETY: a zeroed sigaction has an empty mask and no flags; the handler only does what signal handlers may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = cut as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
}

// SAFETY: the mapping is private and never written, and only this value owns it.
unsafe impl Send for Mapped {}
// SAFETY: as above; shared references give access to bytes that this process never writes.
unsafe impl Sync for Mapped {}

impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapped({} bytes)", self.length)
    }
}

impl Mapped {
    /// Maps a file with its current length.
    ///
    /// # Errors
    /// `ENODEV` if it is not a file (a directory, a pipe), `ENOMEM`, `EOVERFLOW` for a file that does not fit into the address space.
    pub fn of(file: &File) -> Result<Self, Errno> {
        let length = file.metadata().map_err(|_| Errno::EINVAL)?.size();
        let length = usize::try_from(length).map_err(|_| Errno::EINVAL)?;
        if length == 0 {
            return Ok(Self { at: NonNull::dangling(), length });
        }
        HANDLED.call_once(handle);
        let (protection, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
        // SAFETY: a new private mapping at a place that the kernel chooses touches no other memory.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        // latido reads it from beginning to end: the kernel reads ahead, and evicts first what latido has read. This advice may fail.
        // SAFETY: the range is the new mapping.
        unsafe { libc::madvise(at, length, libc::MADV_SEQUENTIAL) };
        NonNull::new(at.cast()).map(|at| Self { at, length }).ok_or(Errno::EINVAL)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping has this many readable bytes while this value lives, and this process does not write them; an empty one is
        // dangling and aligned, as a slice without bytes may be.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.length) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: this value mapped the range, and no reference to it outlives the value.
            unsafe { libc::munmap(self.at.as_ptr().cast(), self.length) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// The mapping contains the bytes of the file, also of an empty one; everything else than a file is refused.
    #[test]
    fn a_file_is_its_bytes() {
        let path = std::env::temp_dir().join(format!("latido-mapped-{}", std::process::id()));
        let mut file = File::options().create(true).truncate(true).read(true).write(true).open(&path).unwrap();
        assert_eq!(&*Mapped::of(&file).unwrap(), b"");
        file.write_all(b"what it holds").unwrap();
        assert_eq!(&*Mapped::of(&file).unwrap(), b"what it holds");
        std::fs::remove_file(&path).unwrap();
        assert!(Mapped::of(&File::open("/").unwrap()).is_err());
    }

    /// A process that reads a truncated part prints the message. The test starts itself again for this.
    #[test]
    fn a_file_that_is_cut_is_named() {
        const CHILD: &str = "LATIDO_MAPPED_CHILD";
        if std::env::var_os(CHILD).is_some() {
            let path = std::env::temp_dir().join(format!("latido-cut-{}", std::process::id()));
            let mut file = File::options().create(true).truncate(true).read(true).write(true).open(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            file.write_all(&[7; 3 << 16]).unwrap();
            let mapped = Mapped::of(&file).unwrap();
            assert_eq!(mapped.last(), Some(&7));
            file.set_len(0).unwrap();
            std::process::exit(i32::from(mapped[1 << 16]));
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let name = concat!(module_path!(), "::a_file_that_is_cut_is_named");
        child.args(["--exact", name.split_once("::").unwrap().1, "--nocapture"]).env(CHILD, "1");
        let output = child.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).ends_with(CUT), "{output:?}");
    }
}

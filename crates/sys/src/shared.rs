//! Memory that two processes share: an anonymous file (memfd_create) that both map.

use crate::{Errno, descriptor};
use std::{
    fmt,
    ops::Deref,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr::NonNull,
};

/// A type whose values may be in memory that other processes change.
///
/// # Safety
/// All-zero bytes are a valid value, and so is every other value of the bytes. Everything that changes through a shared reference is atomic
/// or left to the kernel and the C library. The type contains no address.
pub unsafe trait Shareable: Sync {}

/// A `T` in memory that other processes can map too. It starts as zeros and is resident from the start.
pub struct Shared<T: Shareable> {
    file: OwnedFd,
    at: NonNull<T>,
}

// SAFETY: in this process the mapping belongs to this value alone, and a `Shareable` is made to be shared with other processes.
unsafe impl<T: Shareable> Send for Shared<T> {}
// SAFETY: a shared reference gives out shared references to a `Sync` type only.
unsafe impl<T: Shareable> Sync for Shared<T> {}

impl<T: Shareable> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("file", &self.file).field("bytes", &size_of::<T>()).finish()
    }
}

impl<T: Shareable> Shared<T> {
    /// Creates the file with a fixed size and maps it. Children do not inherit the file by default.
    ///
    /// # Errors
    /// `ENOMEM`, `EMFILE`; `ENOSYS` before Linux 3.17.
    pub fn create() -> Result<Self, Errno> {
        // SAFETY: the name is a terminated string.
        let file = unsafe { libc::memfd_create(c"latido".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        Errno::check(file)?;
        // SAFETY: the descriptor was just opened and no other code has it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let size = libc::off_t::try_from(size_of::<T>()).map_err(|_| Errno::EINVAL)?;
        // SAFETY: takes numbers only.
        Errno::check(unsafe { libc::ftruncate(file.as_raw_fd(), size) })?;
        // If the file shrank under a mapping, the kernel would kill any process that touches the lost pages.
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: takes numbers only.
        Errno::check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) })?;
        Self::map(file)
    }

    /// Maps the file that another process created and this process inherited under a descriptor number.
    ///
    /// # Errors
    /// `EBADF` for a number that is not an open file, `EINVAL` for a file that is not sealed or not of this size.
    pub fn adopt(number: i32) -> Result<Self, Errno> {
        let file = descriptor::take_over(number)?;
        // SAFETY: takes numbers only.
        let seals = Errno::check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) })?;
        // SAFETY: all-zero is a valid stat.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is writable.
        Errno::check(unsafe { libc::fstat(file.as_raw_fd(), &mut stat) })?;
        if seals & libc::F_SEAL_SHRINK == 0 || usize::try_from(stat.st_size) != Ok(size_of::<T>()) {
            return Err(Errno::EINVAL);
        }
        Self::map(file)
    }

    fn map(file: OwnedFd) -> Result<Self, Errno> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let how = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address that the kernel chooses, of a file that has the size and keeps it.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<T>(), access, how, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let at = NonNull::new(at.cast::<T>()).ok_or(Errno::EINVAL)?;
        Ok(Self { file, at })
    }

    /// Returns the file, which a child can inherit; see [`descriptor::inherit`].
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }
}

impl<T: Shareable> Deref for Shared<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the mapping lives as long as self and is page-aligned, and any bytes are a valid `Shareable`.
        unsafe { self.at.as_ref() }
    }
}

impl<T: Shareable> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and size, and no reference outlives self.
        unsafe { libc::munmap(self.at.as_ptr().cast(), size_of::<T>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    struct Atomics<const N: usize>([AtomicU64; N]);

    type Two = Atomics<2>;
    type Three = Atomics<3>;

    // SAFETY: atomics, for which all bytes are valid.
    unsafe impl<const N: usize> Shareable for Atomics<N> {}

    #[test]
    fn both_mappings_are_the_same_memory() {
        let mine = Shared::<Two>::create().unwrap();
        let theirs = Shared::<Two>::adopt(mine.file().as_raw_fd()).unwrap();
        assert_eq!(theirs.0[1].load(Relaxed), 0);
        mine.0[1].store(7, Relaxed);
        assert_eq!(theirs.0[1].load(Relaxed), 7);
        drop(mine);
        assert_eq!(theirs.0[1].load(Relaxed), 7, "the memory stays as long as one maps it");
    }

    #[test]
    fn what_is_not_the_same_memory_is_refused() {
        let mine = Shared::<Two>::create().unwrap();
        assert_eq!(Shared::<Three>::adopt(mine.file().as_raw_fd()).unwrap_err(), Errno::EINVAL);
        assert_eq!(Shared::<Two>::adopt(-1).unwrap_err(), Errno::from_raw(libc::EBADF));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(Shared::<Two>::adopt(file.as_raw_fd()).is_err());
    }
}

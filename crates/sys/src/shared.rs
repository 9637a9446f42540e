//! Memory that two processes see: an anonymous file (memfd_create), mapped by each.

use crate::{Errno, descriptor};
use std::{
    fmt,
    ops::Deref,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr::NonNull,
};

/// What may lie in memory that other processes change.
///
/// # Safety
/// All bytes zero are a valid value, every value of the bytes is one, whatever changes through a shared reference is
/// atomic or left to the kernel and the C library, and nothing in it is an address.
pub unsafe trait Shareable: Sync {}

/// A `T` in memory that other processes can map too; zero in the beginning, resident from the start.
pub struct Shared<T: Shareable> {
    file: OwnedFd,
    at: NonNull<T>,
}

// SAFETY: the mapping belongs to this value alone in this process, and a `Shareable` is made to be seen by others.
unsafe impl<T: Shareable> Send for Shared<T> {}
// SAFETY: a shared reference gives out shared references to a `Sync` type only.
unsafe impl<T: Shareable> Sync for Shared<T> {}

impl<T: Shareable> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("file", &self.file).field("bytes", &size_of::<T>()).finish()
    }
}

impl<T: Shareable> Shared<T> {
    /// Makes the file, of a fixed size, and maps it. Children do not inherit the file unless told to.
    ///
    /// # Errors
    /// `ENOMEM`, `EMFILE`; `ENOSYS` before Linux 3.17.
    pub fn create() -> Result<Self, Errno> {
        // SAFETY: the name is a terminated string.
        let file = unsafe { libc::memfd_create(c"latido".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        Errno::check(file)?;
        // SAFETY: the descriptor was just opened and nobody else has it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let size = libc::off_t::try_from(size_of::<T>()).map_err(|_| Errno::EINVAL)?;
        // SAFETY: takes numbers only.
        Errno::check(unsafe { libc::ftruncate(file.as_raw_fd(), size) })?;
        // A file that shrank under a mapping would end whoever touches it.
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: takes numbers only.
        Errno::check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) })?;
        Self::map(file)
    }

    /// Maps the file that another process made and this one inherited under a number.
    ///
    /// # Errors
    /// `EBADF` for a number that is no open file, `EINVAL` for a file that is not sealed or not of this size.
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
        // SAFETY: a new mapping at an address of the kernel's choice, of a file that has the size and keeps it.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<T>(), access, how, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let at = NonNull::new(at.cast::<T>()).ok_or(Errno::EINVAL)?;
        Ok(Self { file, at })
    }

    /// The number under which a child inherits the file; see [`descriptor::inherit`].
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }
}

impl<T: Shareable> Deref for Shared<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the mapping lives as long as self, is aligned to a page, and any bytes are a valid `Shareable`.
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

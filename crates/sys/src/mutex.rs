//! Mutexes of the C library, of every protocol: a single one, or many in one row of memory.

use crate::Errno;
use std::{cell::UnsafeCell, fmt, marker::PhantomData, mem, mem::MaybeUninit};

/// What a mutex does about priorities; see pthread_mutexattr_setprotocol(3p).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// PTHREAD_PRIO_NONE: nothing.
    Normal,
    /// PTHREAD_PRIO_INHERIT: the owner runs with the highest priority of the threads that wait for it.
    Inherit,
    /// PTHREAD_PRIO_PROTECT: the owner runs with at least this priority, 1 to 99.
    ///
    /// Only a thread with a real-time policy can lock such a mutex. For a time-sharing thread the C library requests an impossible priority
    /// from the kernel: the first lock returns `EINVAL`, and later locks succeed without protecting anything.
    Ceiling(u8),
}

// Values of <pthread.h>, the same in every C library for Linux.
const PRIO_NONE: libc::c_int = 0;
const PRIO_INHERIT: libc::c_int = 1;
const PRIO_PROTECT: libc::c_int = 2;

unsafe extern "C" {
    fn pthread_mutexattr_setprioceiling(
        attributes: *mut libc::pthread_mutexattr_t,
        ceiling: libc::c_int,
    ) -> libc::c_int;
}

/// Checks the result of a C function that returns an error number instead of setting `errno`.
fn check(result: libc::c_int) -> Result<(), Errno> {
    if result == 0 { Ok(()) } else { Err(Errno::from_raw(result)) }
}

/// The C structure. It never moves between its initialisation and its destruction.
#[repr(transparent)]
struct Raw(UnsafeCell<libc::pthread_mutex_t>);

impl Raw {
    const fn unset() -> Self {
        Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    #[inline(always)]
    fn lock(&self) -> Result<(), Errno> {
        // SAFETY: initialised before any other code sees it, and not moved since.
        check(unsafe { libc::pthread_mutex_lock(self.0.get()) })
    }

    #[inline(always)]
    fn try_lock(&self) -> Result<(), Errno> {
        // SAFETY: initialised before any other code sees it, and not moved since.
        check(unsafe { libc::pthread_mutex_trylock(self.0.get()) })
    }

    /// Unlocks the mutex. Only the thread that locked it may call this.
    #[inline(always)]
    fn unlock(&self) -> Result<(), Errno> {
        // SAFETY: initialised and not moved; the callers own a proof that this thread has locked it.
        check(unsafe { libc::pthread_mutex_unlock(self.0.get()) })
    }

    /// Destroys the mutex. Returns false if that fails, for example because a thread still has it locked: its memory must then stay where
    /// it is.
    fn destroy(&self) -> bool {
        if self.try_lock().is_err() {
            return false;
        }
        let unlocked = self.unlock().is_ok();
        // SAFETY: unlocked a moment ago, and the caller owns it, so no other thread can lock it again.
        unlocked && unsafe { libc::pthread_mutex_destroy(self.0.get()) } == 0
    }
}

/// The attributes for new mutexes.
struct Attributes(libc::pthread_mutexattr_t);

impl Attributes {
    fn new(protocol: Protocol, shared: bool) -> Result<Self, Errno> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: the pointer is writable; on success the structure is initialised.
        check(unsafe { libc::pthread_mutexattr_init(raw.as_mut_ptr()) })?;
        // SAFETY: initialised just now.
        let mut attributes = Self(unsafe { raw.assume_init() });
        let number = match protocol {
            Protocol::Normal => PRIO_NONE,
            Protocol::Inherit => PRIO_INHERIT,
            Protocol::Ceiling(_) => PRIO_PROTECT,
        };
        // SAFETY: the attributes are initialised.
        check(unsafe { libc::pthread_mutexattr_setprotocol(&mut attributes.0, number) })?;
        if let Protocol::Ceiling(ceiling) = protocol {
            // SAFETY: the attributes are initialised; the declaration is that of <pthread.h>.
            check(unsafe { pthread_mutexattr_setprioceiling(&mut attributes.0, ceiling.into()) })?;
        }
        let who = if shared { libc::PTHREAD_PROCESS_SHARED } else { libc::PTHREAD_PROCESS_PRIVATE };
        // SAFETY: the attributes are initialised.
        check(unsafe { libc::pthread_mutexattr_setpshared(&mut attributes.0, who) })?;
        Ok(attributes)
    }

    /// Initialises a mutex at its final address.
    fn make(&self, raw: &Raw) -> Result<(), Errno> {
        // SAFETY: the place is writable, contains no mutex in use, and belongs to a box of the caller.
        check(unsafe { libc::pthread_mutex_init(raw.0.get(), &self.0) })
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised, and not used after this.
        unsafe { libc::pthread_mutexattr_destroy(&mut self.0) };
    }
}

/// One mutex, in separately allocated memory.
pub struct Mutex {
    raw: Box<Raw>,
}

/// Many equal mutexes in one row of memory, locked and unlocked together.
pub struct Mutexes {
    raws: Box<[Raw]>,
}

// SAFETY: a mutex may be used from any thread; that is what it is for.
unsafe impl Send for Mutex {}
// SAFETY: as above; unlocking needs the proof that stays on the thread that locked.
unsafe impl Sync for Mutex {}
// SAFETY: as for one mutex.
unsafe impl Send for Mutexes {}
// SAFETY: as for one mutex.
unsafe impl Sync for Mutexes {}

impl fmt::Debug for Mutex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

impl fmt::Debug for Mutexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mutexes({})", self.raws.len())
    }
}

/// Proof that this thread has locked a mutex; unlocks it when dropped.
#[must_use]
pub struct Held<'a> {
    raw: &'a Raw,
    /// Only the thread that locked may unlock.
    stays: PhantomData<*const ()>,
}

/// Proof that this thread has locked a whole row; unlocks it when dropped.
#[must_use]
pub struct AllHeld<'a> {
    raws: &'a [Raw],
    stays: PhantomData<*const ()>,
}

impl Mutex {
    /// Creates an unlocked mutex. `shared` means PTHREAD_PROCESS_SHARED.
    ///
    /// # Errors
    /// `EINVAL` for an impossible ceiling, `ENOTSUP` or `ENOSYS` for a protocol that the C library does not have.
    pub fn new(protocol: Protocol, shared: bool) -> Result<Self, Errno> {
        let attributes = Attributes::new(protocol, shared)?;
        let raw = Box::new(Raw::unset());
        attributes.make(&raw)?;
        Ok(Self { raw })
    }

    /// Calls pthread_mutex_lock(3p). It never returns if this thread has already locked the mutex.
    ///
    /// # Errors
    /// `EINVAL` when the thread's priority is above the ceiling, or cannot be raised to it.
    #[inline(always)]
    pub fn lock(&self) -> Result<Held<'_>, Errno> {
        self.raw.lock()?;
        Ok(Held { raw: &self.raw, stays: PhantomData })
    }

    /// Calls pthread_mutex_trylock(3p).
    ///
    /// # Errors
    /// `EBUSY` when the mutex is locked; otherwise as [`Mutex::lock`].
    #[inline(always)]
    pub fn try_lock(&self) -> Result<Held<'_>, Errno> {
        self.raw.try_lock()?;
        Ok(Held { raw: &self.raw, stays: PhantomData })
    }
}

impl Held<'_> {
    /// Calls pthread_mutex_unlock(3p).
    ///
    /// # Errors
    /// A correct C library returns no error here.
    #[inline(always)]
    pub fn unlock(self) -> Result<(), Errno> {
        let unlocked = self.raw.unlock();
        mem::forget(self);
        unlocked
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // A drop cannot return the error; the mutex then stays locked and is never freed.
        let _refused = self.raw.unlock();
    }
}

impl Mutexes {
    /// Creates `count` unlocked mutexes, otherwise as [`Mutex::new`].
    ///
    /// # Errors
    /// As [`Mutex::new`].
    pub fn new(count: usize, protocol: Protocol, shared: bool) -> Result<Self, Errno> {
        let attributes = Attributes::new(protocol, shared)?;
        let raws: Box<[Raw]> = (0..count).map(|_| Raw::unset()).collect();
        raws.iter().try_for_each(|raw| attributes.make(raw))?;
        Ok(Self { raws })
    }

    /// Returns how many mutexes the row has.
    pub fn count(&self) -> usize {
        self.raws.len()
    }

    /// Locks each mutex once, from the first to the last.
    ///
    /// # Errors
    /// As [`Mutex::lock`]. The mutexes that were already locked are unlocked again.
    #[inline(always)]
    pub fn lock(&self) -> Result<AllHeld<'_>, Errno> {
        self.each(Raw::lock)
    }

    /// Tries to lock each mutex once, from the first to the last.
    ///
    /// # Errors
    /// As [`Mutex::try_lock`]. The mutexes that were already locked are unlocked again.
    #[inline(always)]
    pub fn try_lock(&self) -> Result<AllHeld<'_>, Errno> {
        self.each(Raw::try_lock)
    }

    #[inline(always)]
    fn each(&self, lock: impl Fn(&Raw) -> Result<(), Errno>) -> Result<AllHeld<'_>, Errno> {
        for (done, raw) in self.raws.iter().enumerate() {
            if let Err(error) = lock(raw) {
                self.give_up(done);
                return Err(error);
            }
        }
        Ok(AllHeld { raws: &self.raws, stays: PhantomData })
    }

    #[cold]
    #[inline(never)]
    fn give_up(&self, locked: usize) {
        for raw in self.raws.iter().take(locked) {
            let _refused = raw.unlock();
        }
    }
}

impl AllHeld<'_> {
    /// Unlocks each mutex once, from the first to the last.
    ///
    /// # Errors
    /// A correct C library returns no error here. After an error the remaining mutexes stay locked.
    #[inline(always)]
    pub fn unlock(self) -> Result<(), Errno> {
        let raws = self.raws;
        mem::forget(self);
        raws.iter().try_for_each(Raw::unlock)
    }
}

impl Drop for AllHeld<'_> {
    fn drop(&mut self) {
        for raw in self.raws {
            let _refused = raw.unlock();
        }
    }
}

impl Drop for Mutex {
    fn drop(&mut self) {
        if !self.raw.destroy() {
            // A locked mutex must not be destroyed: its memory stays allocated.
            mem::forget(mem::replace(&mut self.raw, Box::new(Raw::unset())));
        }
    }
}

impl Drop for Mutexes {
    fn drop(&mut self) {
        // Destroys every mutex that can be destroyed, even after one that cannot.
        let staying = self.raws.iter().filter(|raw| !raw.destroy()).count();
        if staying > 0 {
            mem::forget(mem::replace(&mut self.raws, Box::new([])));
        }
    }
}

#[cfg(test)]
mod tests;

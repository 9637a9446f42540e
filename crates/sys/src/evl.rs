//! EVL, the real-time core of Xenomai 4: its ABIs, its out-of-band call, and the devices by which a process reaches it.
//!
//! The structures and numbers are those of include/uapi/evl/*.h. latido compared three kernels: ABI 34 (khadas/linux), ABI 36
//! (steleman/xenomai-fc39, patch-6.10-dovetail-evl.patch) and what follows (k3k8/linux-evl, up to 43 at least). latido ran only on ABI 36.

mod clock;
mod monitor;
mod thread;

use crate::{
    Errno,
    cokernel::{self, Core, Refused},
    ioctl,
    layout::layout,
};
use std::{
    fs::File,
    os::fd::{AsRawFd, FromRawFd},
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::atomic::AtomicU32,
};

pub(crate) use clock::Timer;
pub(crate) use monitor::{Gate, Semaphore};
pub(crate) use thread::Thread;

/// The first ABI whose structures latido knows.
const EARLIEST: u32 = 27;
/// The first ABI whose calls name the core in the first argument of prctl(2).
const NAMED: u32 = 36;
/// The last ABI whose structures latido knows. Kernels of later ABIs have a shorter request to wait for a semaphore, and then another place
/// for a thread's mode. The sources do not tell with which ABI each change came.
const LATEST: u32 = 36;

/// The ABIs that latido speaks, for a sentence.
const KNOWN: &str = "27 to 36";
const KNOWN_EARLIER: &str = "27 to 36, and later ABIs have other structures";

/// How prctl(2) carries a call of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// ABI 27 to 35: a bit in the number of the call marks it.
    Marked,
    /// Since ABI 36: the first argument names the core, because the marked numbers collided with those of prctl(2).
    Named,
}

/// The ABI that latido speaks with a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// Its number.
    pub abi: u32,
    /// How it carries a call.
    pub form: Form,
}

/// Chooses the ABI to speak with a kernel that speaks all from `base` to `current`.
///
/// # Errors
/// Which ABIs latido speaks, when the kernel speaks none of them.
pub const fn spoken((base, current): (u32, u32)) -> Result<Spoken, &'static str> {
    let abi = if current < LATEST { current } else { LATEST };
    if base > LATEST {
        return Err(KNOWN_EARLIER);
    }
    if base > abi || abi < EARLIEST {
        return Err(KNOWN);
    }
    Ok(Spoken { abi, form: if abi < NAMED { Form::Marked } else { Form::Named } })
}

/// `__OOB_SYSCALL_BIT` of Dovetail before ABI 36.
const MARK: u64 = 0x1000_0000;
/// `PR_OOB_SYSCALL` of include/uapi/asm-generic/dovetail.h since ABI 36.
const NAME: u64 = 0x4f4f_4243;

/// The calls of include/uapi/evl/syscall-abi.h.
const READ: u64 = 0;
const IOCTL: u64 = 2;

/// Returns the arguments of prctl(2) that carry a call of the core.
#[inline(always)]
const fn carried(form: Form, number: u64, [a, b, c]: [u64; 3]) -> [u64; 5] {
    match form {
        Form::Marked => [number | MARK, a, b, c, 0],
        Form::Named => [NAME, number, a, b, c],
    }
}

/// Makes a call of the core. The core takes an in-band thread out of band first. Every out-of-band call of EVL is this one.
///
/// # Safety
/// The arguments must be what the call expects. Each pointer among them must be valid for what the call does with it.
#[inline(always)]
unsafe fn oob(form: Form, number: u64, arguments: [u64; 3]) -> Result<u64, Errno> {
    // SAFETY: as the caller promises. A kernel without this form refuses the first argument.
    cokernel::outcome(unsafe { cokernel::call(libc::SYS_prctl as u64, carried(form, number, arguments)) })
}

/// Sends an out-of-band request with a value. The core may write to it.
///
/// # Safety
/// Each pointer in the value must be valid for what the request does with it.
#[inline(always)]
unsafe fn request<T: Copy>(form: Form, file: &File, request: u64, value: &mut T) -> Result<(), Errno> {
    let value = std::ptr::from_mut(value).expose_provenance() as u64;
    // SAFETY: the value has the size that is part of the request's number, is writable, and lives through the call. The caller promises
    // the rest.
    unsafe { oob(form, IOCTL, [file.as_raw_fd() as u64, request, value]) }.map(drop)
}

/// Sends an out-of-band request with a value that consists of numbers only. The core may write to it.
#[inline(always)]
fn ask<T: Copy>(form: Form, file: &File, number: u64, value: &mut T) -> Result<(), Errno> {
    // SAFETY: the value has no pointers.
    unsafe { request(form, file, number, value) }
}

/// struct evl_core_info: what the control device says about the core.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Info {
    base: u32,
    current: u32,
    fpu: u32,
    spare: u32,
    shared: u64,
}

// include/uapi/evl/control-abi.h.
layout!(Info: 24, align 8, { base: 0, current: 4, fpu: 8, spare: 12, shared: 16 });

const GET_INFO: u64 = ioctl::reads::<Info>(b'C', 0);

/// struct evl_clone_req: the request for a new element, and what the core says about it.
#[repr(C)]
#[derive(Clone, Copy)]
struct NewElement {
    name: u64,
    attributes: u64,
    flags: u32,
    minor: u32,
    fundle: u32,
    state: u32,
    file: u32,
    spare: u32,
}

// include/uapi/evl/factory-abi.h.
layout!(NewElement: 40, align 8, {
    name: 0, attributes: 8, flags: 16, minor: 20, fundle: 24, state: 28, file: 32, spare: 36,
});

const CLONE: u64 = ioctl::exchanges::<NewElement>(b'f', 0);

/// The memory that the core shares with this process.
#[derive(Debug)]
struct Shared {
    at: NonNull<u8>,
    length: usize,
}

// SAFETY: latido reads this memory only with atomic loads.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn map(control: &File, length: u64) -> Result<Self, Errno> {
        let length = usize::try_from(length).map_err(|_| Errno::EINVAL)?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at a place that the kernel chooses touches no other memory.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, control.as_raw_fd(), 0) };
        let at = NonNull::new(at.cast()).filter(|_| at != libc::MAP_FAILED).ok_or_else(Errno::last)?;
        Ok(Self { at, length })
    }

    /// Returns the word at an offset that the core gave.
    fn word(&self, offset: u32) -> Result<&AtomicU32, Errno> {
        let offset = offset as usize;
        if !offset.is_multiple_of(size_of::<AtomicU32>()) || offset.saturating_add(size_of::<AtomicU32>()) > self.length
        {
            return Err(Errno::EINVAL);
        }
        // SAFETY: the word lies in the mapping and is aligned. The mapping lives as long as `self`.
        Ok(unsafe { &*self.at.as_ptr().add(offset).cast::<AtomicU32>() })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: this value mapped the range, and no reference to it outlives the value.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.length) };
    }
}

/// A new element: its file, and where the core writes its state in the shared memory.
struct Element {
    file: File,
    state: u32,
}

/// EVL, opened by this process.
#[derive(Debug)]
pub(crate) struct Evl {
    root: PathBuf,
    /// The core keeps its record of this process at least while the device is open.
    _control: File,
    monotonic: File,
    shared: Shared,
    spoken: Spoken,
}

impl Evl {
    /// Looks for the core below a root directory, which is `/` except in tests.
    pub(crate) fn find(root: &Path) -> Result<Option<Self>, Refused> {
        let other = |error| Refused::Other(Core::Evl, error);
        let control = match cokernel::open(&root.join("dev/evl/control")) {
            Ok(control) => control,
            Err(error @ (Errno::EPERM | Errno::EACCES)) => return Err(Refused::Denied(Core::Evl, error)),
            Err(error) if is_absent(error) => return Ok(None),
            Err(error) => return Err(other(error)),
        };
        if !cokernel::SUPPORTED {
            return Err(other(Errno::EOPNOTSUPP));
        }
        let mut info = Info::default();
        // ENOTTY: the core has another layout of this structure.
        ioctl::ask(&control, GET_INFO, &mut info).map_err(other)?;
        let kernel = (info.base, info.current);
        let spoken = spoken(kernel).map_err(|known| Refused::Abi { core: Core::Evl, kernel, known })?;
        if !runs(root) {
            return Err(Refused::Stopped(Core::Evl));
        }
        let shared = Shared::map(&control, info.shared).map_err(other)?;
        let monotonic = cokernel::open(&root.join("dev/evl/clock/monotonic")).map_err(other)?;
        Ok(Some(Self { root: root.to_owned(), _control: control, monotonic, shared, spoken }))
    }

    /// Returns the ABI that latido speaks.
    pub(crate) fn abi(&self) -> u32 {
        self.spoken.abi
    }

    /// Creates an element of a kind: `thread`, `monitor`.
    fn create<T: Copy>(&self, kind: &str, attributes: Option<&T>) -> Result<Element, Errno> {
        let factory = cokernel::open(&self.root.join("dev/evl").join(kind).join("clone"))?;
        let attributes = attributes.map_or(0, |attributes| std::ptr::from_ref(attributes).expose_provenance() as u64);
        // An element without a name is private to this process.
        let mut new =
            NewElement { name: 0, attributes, flags: 0, minor: 0, fundle: 0, state: 0, file: u32::MAX, spare: 0 };
        // The core only reads the attributes, which are borrowed through the call.
        ioctl::ask(&factory, CLONE, &mut new)?;
        let file = i32::try_from(new.file).map_err(|_| Errno::EINVAL)?;
        // SAFETY: the core has just opened the descriptor, and no other code has it.
        Ok(Element { file: unsafe { File::from_raw_fd(file) }, state: new.state })
    }
}

/// Returns whether the error means that a kernel has no such device.
fn is_absent(error: Errno) -> bool {
    [libc::ENOENT, libc::ENOTDIR, libc::ENODEV, libc::ENXIO].map(Errno::from_raw).contains(&error)
}

/// Returns whether the core runs. Where no file tells it, latido only learns it from the core's next answer.
fn runs(root: &Path) -> bool {
    let state = std::fs::read_to_string(root.join("sys/devices/virtual/evl/control/state"));
    state.map_or(true, |state| state.trim() == "running")
}

#[cfg(test)]
mod tests;

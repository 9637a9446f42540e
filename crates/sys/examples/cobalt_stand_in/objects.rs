//! The semaphores and mutexes of the core. A thread that waits for one gets its answer by another thread's call, and no
//! signal ends its wait.

use super::{
    caller,
    calls::Kind,
    core::Answer,
    filter::{Call, Listener},
};
use std::collections::{HashMap, VecDeque};

/// Where the names of both have their handle: struct cobalt_sem_shadow and struct cobalt_mutex_shadow.
const OF_SEMAPHORE: u64 = 8;
const OF_MUTEX: u64 = 12;

/// A call that waits, and its thread.
type Waiting = (u64, i32);

/// All of them, by their handles.
#[derive(Default)]
pub struct Objects {
    all: HashMap<u32, Object>,
    last: u32,
}

/// A mutex is a semaphore of one with an owner.
#[derive(Default)]
struct Object {
    count: u32,
    owner: Option<i32>,
    waiting: VecDeque<Waiting>,
}

impl Objects {
    /// Returns the answer to a call; `None` if the thread must wait. A thread that waited may get its answer, too.
    pub fn answer(&mut self, kind: Kind, call: Call, listener: &Listener) -> Option<Answer> {
        let [name, _, initial, ..] = call.arguments;
        let at = if matches!(kind, Kind::SemInit | Kind::SemDestroy | Kind::SemPost | Kind::SemWait) {
            OF_SEMAPHORE
        } else {
            OF_MUTEX
        };
        if matches!(kind, Kind::SemInit | Kind::MutexInit) {
            self.last += 1;
            let count = if kind == Kind::SemInit { initial as u32 } else { 1 };
            self.all.insert(self.last, Object { count, ..Object::default() });
            let put = caller::write(call.tid, name.wrapping_add(at), &self.last.to_ne_bytes());
            return Some(put.map(|()| 0));
        }
        let handle = match caller::word(call.tid, name, at) {
            Ok(handle) => handle,
            Err(error) => return Some(Err(error)),
        };
        let Some(object) = self.all.get_mut(&handle) else { return Some(Err(libc::EINVAL)) };
        match kind {
            Kind::SemWait | Kind::MutexLock if object.count > 0 => {
                object.count -= 1;
                object.owner = Some(call.tid);
            }
            Kind::SemWait | Kind::MutexLock => {
                object.waiting.push_back((call.id, call.tid));
                return None;
            }
            Kind::MutexUnlock if object.owner != Some(call.tid) => return Some(Err(libc::EPERM)),
            Kind::SemPost | Kind::MutexUnlock => {
                // Threads that have died wait no more.
                let next =
                    std::iter::from_fn(|| object.waiting.pop_front()).find(|(id, _)| listener.answer(*id, Ok(0)));
                object.owner = next.map(|(_, tid)| tid);
                object.count += u32::from(next.is_none());
            }
            _ if object.waiting.is_empty() => _ = self.all.remove(&handle),
            _ => return Some(Err(libc::EBUSY)),
        }
        Some(Ok(0))
    }
}

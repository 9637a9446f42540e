//! How long measuring threads waited for their CPUs before samples counted. No sample contains any of this.

use latido_sys::procfs::SchedStatFile;
use std::sync::{Arc, OnceLock};

/// The schedstat of each thread, opened by itself before the gate.
pub type Schedstats = Vec<Arc<OnceLock<SchedStatFile>>>;

/// Reads each schedstat at the beginning and at the end of the warm-up. It allocates only at the beginning.
pub struct WarmUp {
    threads: Vec<Thread>,
}

struct Thread {
    file: Arc<OnceLock<SchedStatFile>>,
    began_ns: Option<u64>,
    waited_ns: Option<u64>,
}

impl WarmUp {
    /// Starts when the threads are released.
    pub fn begins(schedstats: Schedstats) -> Self {
        let thread = |file: Arc<OnceLock<SchedStatFile>>| Thread { began_ns: delay_ns(&file), waited_ns: None, file };
        Self { threads: schedstats.into_iter().map(thread).collect() }
    }

    /// Ends the warm-up: from here on samples count.
    pub fn ends(&mut self) {
        for thread in &mut self.threads {
            let both = delay_ns(&thread.file).zip(thread.began_ns);
            thread.waited_ns = both.map(|(now, before)| now.saturating_sub(before));
        }
    }

    /// Returns how long a thread waited in the warm-up, ns; `None` if there was no warm-up, or the kernel does not show it.
    pub fn delay_ns(&self, thread: usize) -> Option<u64> {
        self.threads.get(thread)?.waited_ns
    }
}

fn delay_ns(file: &OnceLock<SchedStatFile>) -> Option<u64> {
    file.get()?.read().map(|stat| stat.delay_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_never_told_and_no_warm_up_have_no_delay() {
        let told = Arc::new(OnceLock::new());
        if let Ok(own) = SchedStatFile::open() {
            told.set(own).unwrap();
        }
        let is_told = told.get().is_some();
        let mut warm_up = WarmUp::begins(vec![told, Arc::default()]);
        assert_eq!((warm_up.delay_ns(0), warm_up.delay_ns(1)), (None, None));
        warm_up.ends();
        assert_eq!((warm_up.delay_ns(0).is_some(), warm_up.delay_ns(1)), (is_told, None));
        assert_eq!(warm_up.delay_ns(2), None);
    }
}

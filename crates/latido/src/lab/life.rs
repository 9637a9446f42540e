//! How long a guest may live. latido ends a guest that hangs, and says so.

use std::{
    fs,
    process::Child,
    time::{Duration, Instant},
};

/// A guest that takes no processor time for this long counts as hanging.
const STILL: Duration = Duration::from_secs(120);

/// How many times its processor time a guest with the host's time may take by the host's clock. Its kernel works a little for every tick
/// even when its agent hangs, so that neither of the other limits ends it soon. A crowded host makes it slower, but not much slower.
const CROWDED: u32 = 4;

/// How much a guest has worked. A busy host makes a guest slow, but only a hang makes it idle.
pub(super) struct Life {
    pid: u32,
    worked: Duration,
    changed: Instant,
    /// When it started, if it has the host's time.
    started: Option<Instant>,
}

impl Life {
    /// Watches a guest from its start. `host_time` tells whether its clock is the host's.
    pub(super) fn new(child: &Child, host_time: bool) -> Self {
        let now = Instant::now();
        Self { pid: child.id(), worked: Duration::ZERO, changed: now, started: host_time.then_some(now) }
    }

    /// Returns why latido gives it up, if it does: it has worked for longer than `within`, has stopped working, or has the host's time and
    /// does not end.
    pub(super) fn over(&mut self, within: Duration) -> Option<String> {
        let worked = worked(self.pid)?;
        if worked != self.worked {
            (self.worked, self.changed) = (worked, Instant::now());
        }
        hangs(worked, self.changed.elapsed(), self.started.map(|started| started.elapsed()), within)
    }
}

/// Returns why a guest hangs that has worked this much, has been still and has lived for this long.
fn hangs(worked: Duration, still: Duration, lived: Option<Duration>, within: Duration) -> Option<String> {
    if worked > within {
        let seconds = within.as_secs_f64();
        return Some(format!("the guest hangs: it did not end within {seconds:.0} s of processor time"));
    }
    if still > STILL {
        return Some(format!("the guest hangs: it did nothing for {} s", STILL.as_secs()));
    }
    let most = within.saturating_mul(CROWDED);
    let too_long = lived.is_some_and(|lived| lived > most);
    too_long.then(|| format!("the guest hangs: it did not end within {:.0} s of the host's time", most.as_secs_f64()))
}

/// Returns the processor time of a process and its threads (proc(5)).
fn worked(pid: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    let ticks = times.next()?.ok()?.saturating_add(times.next()?.ok()?);
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest ends in each of its ways to hang: it works without end, it stands still, or it only ticks with the host's time. A guest
    /// that counts instructions is never ended by the host's clock.
    #[test]
    fn each_way_to_hang_has_an_end() {
        let [second, within] = [1, 300].map(Duration::from_secs);
        let hangs = |worked, still, lived| hangs(worked, still, lived, within).unwrap_or_default();
        assert_eq!(hangs(within, STILL, Some(within * CROWDED)), "");
        assert!(hangs(within + second, second, None).ends_with("within 300 s of processor time"));
        assert!(hangs(second, STILL + second, None).ends_with("did nothing for 120 s"));
        assert!(hangs(second, second, Some(within * CROWDED + second)).ends_with("within 1200 s of the host's time"));
        assert_eq!(hangs(second, second, None), "");
    }
}

//! Receivers of what was paired.

use super::{Called, Handled, Segment, Span, Wait};
use crate::{
    events::{Happened, Off},
    merge::Lost,
};

/// A receiver of what was paired, as it ends. What a sink does not implement costs nothing.
pub trait Sink {
    /// A task waited for a CPU.
    fn waited(&mut self, _wait: &Wait) {}
    /// A thread was in a system call.
    fn called(&mut self, _called: &Called) {}
    /// An interrupt was handled.
    fn handled(&mut self, _handled: &Handled) {}
    /// A requested soft interrupt started.
    fn raised(&mut self, _raised: &Span<u8>) {}
    /// Interrupts or preemption were off.
    fn off(&mut self, _off: &Span<Off>) {}
    /// A CPU did one thing from start to end. The segments of a CPU follow each other without a gap.
    fn segment(&mut self, _segment: &Segment) {}
    /// An event as recorded in the trace, before it is paired.
    fn event(&mut self, _cpu: u32, _time: u64, _record: &[u8], _happened: Option<&Happened>) {}
    /// Events are missing: what was open at that time may have ended without an event.
    fn lost(&mut self, _lost: &Lost) {}
}

/// A borrowed sink.
impl<A: Sink + ?Sized> Sink for &mut A {
    #[inline]
    fn waited(&mut self, wait: &Wait) {
        (**self).waited(wait);
    }

    #[inline]
    fn called(&mut self, called: &Called) {
        (**self).called(called);
    }

    #[inline]
    fn handled(&mut self, handled: &Handled) {
        (**self).handled(handled);
    }

    #[inline]
    fn raised(&mut self, raised: &Span<u8>) {
        (**self).raised(raised);
    }

    #[inline]
    fn off(&mut self, off: &Span<Off>) {
        (**self).off(off);
    }

    #[inline]
    fn segment(&mut self, segment: &Segment) {
        (**self).segment(segment);
    }

    #[inline]
    fn event(&mut self, cpu: u32, time: u64, record: &[u8], happened: Option<&Happened>) {
        (**self).event(cpu, time, record, happened);
    }

    #[inline]
    fn lost(&mut self, lost: &Lost) {
        (**self).lost(lost);
    }
}

/// Two sinks that receive the same.
impl<A: Sink, B: Sink> Sink for (A, B) {
    #[inline]
    fn waited(&mut self, wait: &Wait) {
        self.0.waited(wait);
        self.1.waited(wait);
    }

    #[inline]
    fn called(&mut self, called: &Called) {
        self.0.called(called);
        self.1.called(called);
    }

    #[inline]
    fn handled(&mut self, handled: &Handled) {
        self.0.handled(handled);
        self.1.handled(handled);
    }

    #[inline]
    fn raised(&mut self, raised: &Span<u8>) {
        self.0.raised(raised);
        self.1.raised(raised);
    }

    #[inline]
    fn off(&mut self, off: &Span<Off>) {
        self.0.off(off);
        self.1.off(off);
    }

    #[inline]
    fn segment(&mut self, segment: &Segment) {
        self.0.segment(segment);
        self.1.segment(segment);
    }

    #[inline]
    fn event(&mut self, cpu: u32, time: u64, record: &[u8], happened: Option<&Happened>) {
        self.0.event(cpu, time, record, happened);
        self.1.event(cpu, time, record, happened);
    }

    #[inline]
    fn lost(&mut self, lost: &Lost) {
        self.0.lost(lost);
        self.1.lost(lost);
    }
}

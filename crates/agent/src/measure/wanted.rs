//! What a probe wants the kernel to record, where its samples are taken from a trace instead of a loop of its own.

/// Events, by system and name: `sched:sched_switch`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Those without which there is nothing to measure.
    pub events: Vec<String>,
    /// Those that tell more, where the kernel has them.
    pub also: Vec<String>,
}

impl Wanted {
    /// These events, all of them needed.
    pub fn events(names: &[&str]) -> Self {
        Self { events: names.iter().map(|name| (*name).into()).collect(), also: Vec::new() }
    }

    /// And these, where the kernel has them.
    pub fn also(mut self, names: &[&str]) -> Self {
        self.also.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }
}

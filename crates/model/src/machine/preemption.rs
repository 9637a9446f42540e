//! The preemption model in force, and its source.

use serde::{Deserialize, Serialize};
use std::fmt;

/// When the kernel, while it works for one task, lets a more urgent task run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Only when it returns to user space.
    None,
    /// Also at explicit points.
    Voluntary,
    /// None or voluntary; latido could not read which.
    NoneOrVoluntary,
    /// Anywhere outside critical sections, for real-time tasks; time-sharing tasks wait for the tick.
    Lazy,
    /// Anywhere outside critical sections.
    Full,
    /// PREEMPT_RT: nearly everywhere; locks sleep, interrupts are threads.
    Rt,
    /// One of the models above, chosen at boot; latido could not read which.
    Dynamic,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Voluntary => "voluntary",
            Self::NoneOrVoluntary => "none or voluntary",
            Self::Lazy => "lazy",
            Self::Full => "full",
            Self::Rt => "PREEMPT_RT",
            Self::Dynamic => "dynamic (chosen at boot)",
        })
    }
}

/// The preemption model and the source that decided it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preemption {
    /// The model in force.
    pub model: Model,
    /// Whether the model can be chosen at boot (`preempt=`), and at run time through debugfs.
    pub dynamic: bool,
    /// The file or the parameter that shows it.
    pub source: String,
}

//! Exit statuses: what the number says with which a command of latido ends.

/// How a command of latido ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All was done; what was measured keeps every limit; nothing is worse.
    Done = 0,
    /// Something that is not the machine under test failed.
    Error = 1,
    /// What was looked at is not as it should be: a limit failed, a machine is unfit, an arm is worse, bytes differ.
    Failed = 2,
    /// Nothing can be said.
    Undecided = 3,
    /// The command line is wrong (EX_USAGE of sysexits.h).
    Usage = 64,
    /// A person or another program asked for the end (128 and the number of SIGINT, as shells have it).
    Interrupted = 130,
}

impl Exit {
    /// All, by number.
    pub const ALL: [Self; 6] = [Self::Done, Self::Error, Self::Failed, Self::Undecided, Self::Usage, Self::Interrupted];

    /// Those of a run; where several apply the first wins.
    pub const PRECEDENCE: [Self; 5] = [Self::Interrupted, Self::Error, Self::Undecided, Self::Failed, Self::Done];

    /// The number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The one with this number; a program that latido ran may have ended with any other.
    pub fn of(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| exit.code() == code)
    }

    /// What it says of a run, as `latido help exit-status` tells it.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Done => "measured, and within every limit and expectation",
            Self::Error => "error: a file, a plan's content, the store or the machine kept it from measuring",
            Self::Failed => "a limit or an expectation failed",
            Self::Undecided => {
                "inconclusive or degraded: no real-time permission, contaminated, undecided, an expectation that matches nothing"
            }
            Self::Usage => "the command line is wrong",
            Self::Interrupted => "interrupted",
        }
    }

    /// The same in a word or three, as `latido run --help` and the manual page have it.
    pub const fn brief(self) -> &'static str {
        match self {
            Self::Done => "within limits",
            Self::Error => "error",
            Self::Failed => "a limit failed",
            Self::Undecided => "inconclusive",
            Self::Usage => "usage",
            Self::Interrupted => "interrupted",
        }
    }
}

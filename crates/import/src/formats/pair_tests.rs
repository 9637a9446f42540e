//! `pmqtest`, `ptsematest`, `svsematest`, `sigwaittest`: how long the partner in a pair takes to wake, as text and as JSON.

use crate::{format::Format, pairs, rt_json};

/// The list entry of `pmqtest`: wake-ups by message queues.
pub const PMQTEST: Format = Format {
    name: "pmqtest",
    about: "pmqtest, text and --json: extremes and mean of wake-ups by message queues",
    recognise: |bytes| {
        pairs::is_text(bytes, true) && !rt_json::is_any(bytes) || rt_json::is_of(bytes, "pmqtest", &[], &[])
    },
    read: |bytes, asked| pairs::read(bytes, asked, "pmqtest", "mqueue"),
};

/// The list entry of `ptsematest`: wake-ups by mutexes.
pub const PTSEMATEST: Format = Format {
    name: "ptsematest",
    about: "ptsematest, text and --json: extremes and mean of wake-ups by mutexes",
    recognise: |bytes| {
        pairs::is_text(bytes, false) && !rt_json::is_any(bytes) || rt_json::is_of(bytes, "ptsematest", &[], &[])
    },
    read: |bytes, asked| pairs::read(bytes, asked, "ptsematest", "mutex"),
};

/// The list entry of `svsematest`: wake-ups by semaphores.
pub const SVSEMATEST: Format = Format {
    name: "svsematest",
    about: "svsematest, text and --json: extremes and mean of wake-ups by semaphores",
    recognise: |bytes| {
        pairs::is_text(bytes, false) && !rt_json::is_any(bytes) || rt_json::is_of(bytes, "svsematest", &[], &[])
    },
    read: |bytes, asked| pairs::read(bytes, asked, "svsematest", "semaphore"),
};

/// The list entry of `sigwaittest`: wake-ups by signals.
pub const SIGWAITTEST: Format = Format {
    name: "sigwaittest",
    about: "sigwaittest, text and --json: extremes and mean of wake-ups by signals",
    recognise: |bytes| {
        pairs::is_text(bytes, false) && !rt_json::is_any(bytes) || rt_json::is_of(bytes, "sigwaittest", &[], &[])
    },
    read: |bytes, asked| pairs::read(bytes, asked, "sigwaittest", "signal"),
};

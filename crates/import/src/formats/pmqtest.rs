//! `pmqtest`: how long the partner of a pair takes to wake by message queues, as text and as JSON.

use crate::{format::Format, pairs, rt_json};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "pmqtest",
    about: "pmqtest, text and --json: extremes and mean of wake-ups by message queues",
    recognise: |bytes| {
        pairs::is_text(bytes, true) && !rt_json::is_any(bytes) || rt_json::is_of(bytes, "pmqtest", &[], &[])
    },
    read: |bytes, asked| pairs::read(bytes, asked, "pmqtest", "mqueue"),
};

//! `svsematest`: how long the partner of a pair takes to wake by semaphores, as text and as JSON.

use crate::{format::Format, pairs, rt_json};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "svsematest",
    about: "svsematest, text and --json: extremes and mean of wake-ups by semaphores",
    recognise: |bytes| {
        pairs::is_text(bytes, false) && !rt_json::is_any(bytes) || rt_json::is_of(bytes, "svsematest", &[], &[])
    },
    read: |bytes, asked| pairs::read(bytes, asked, "svsematest", "semaphore"),
};

//! `ptsematest`: how long the partner of a pair takes to wake by mutexes, as text and as JSON.

use crate::{format::Format, pairs, rt_json};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "ptsematest",
    about: "ptsematest, text and --json: extremes and mean of wake-ups by mutexes",
    recognise: |bytes| {
        pairs::is_text(bytes, false) && !rt_json::is_any(bytes) || rt_json::is_of(bytes, "ptsematest", &[], &[])
    },
    read: |bytes, asked| pairs::read(bytes, asked, "ptsematest", "mutex"),
};

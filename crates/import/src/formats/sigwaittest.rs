//! `sigwaittest`: how long the partner of a pair takes to wake by signals, as text and as JSON.

use crate::{format::Format, pairs, rt_json};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "sigwaittest",
    about: "sigwaittest, text and --json: extremes and mean of wake-ups by signals",
    recognise: |bytes| {
        pairs::is_text(bytes, false) && !rt_json::is_any(bytes) || rt_json::is_of(bytes, "sigwaittest", &[], &[])
    },
    read: |bytes, asked| pairs::read(bytes, asked, "sigwaittest", "signal"),
};

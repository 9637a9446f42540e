//! Any bytes as a page of the ring buffer, and as the description of pages and of an event.
#![no_main]

use latido_trace::{
    bytes::Endian,
    format::Format,
    page::{Layout, Page},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let endian = if choice & 1 == 0 { Endian::Little } else { Endian::Big };
    let text = String::from_utf8_lossy(rest);
    let format = Format::parse(&text);
    let layout = Layout::parse(&text, endian).unwrap_or(Layout::of(endian, if choice & 2 == 0 { 8 } else { 4 }));
    if let Ok(page) = Page::parse(rest, &layout) {
        let mut length = 0;
        for event in page.events() {
            length += event.data.len();
            if let Ok(format) = &format {
                let _ = format.describe(event.data, endian);
            }
        }
        assert!(length <= rest.len(), "records lie beside each other");
    }
    if let Ok(format) = &format {
        for field in &format.fields {
            let _ = field.text(rest, endian);
            let _ = format.number(&field.name, endian).and_then(|number| number.of(rest));
        }
    }
});

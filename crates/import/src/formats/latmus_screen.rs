//! `latmus-screen`: the console output of EVL's `latmus`, in the table form of Xenomai's `latency`.

use crate::{
    format::{Asked, Format},
    formats::{latmus, xenomai},
    imported::Imported,
};
use anyhow::Result;

/// The list entry.
pub const FORMAT: Format =
    Format { name: "latmus-screen", about: "EVL's latmus without -g: the lines of a console", recognise, read };

fn recognise(bytes: &[u8]) -> bool {
    latmus::is_screen(bytes) && !latmus::is_plot(bytes)
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    xenomai::table(bytes, asked, "latmus", "latmus")
}

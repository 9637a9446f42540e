//! What this version measures with, as the words of the command line ask for it.

use crate::machines;
use latido_agent::catalogue::Installed;
use latido_model::{
    catalogue::{Catalogue, Kind, List},
    units::Ns,
};

/// Every probe, load and tuning.
pub const CATALOGUE: &dyn Catalogue = &Installed;

/// One list of them.
pub fn list(kind: Kind) -> List<'static> {
    CATALOGUE.list(kind)
}

/// What `--on` takes.
pub fn targets() -> String {
    let all: Vec<String> = machines::TARGETS.iter().filter(|def| !def.for_tests).map(machines::Def::written).collect();
    format!("The machine: {} [default: local]", all.join(" or "))
}

/// The value of `--on`.
///
/// # Errors
/// There is no such target.
pub fn target(text: &str) -> Result<String, String> {
    machines::named(text).map(|_| text.into()).map_err(|error| format!("{error:#}"))
}

/// The value of `--wait` and `--budget`.
///
/// # Errors
/// It is no time.
pub fn span(text: &str) -> Result<Ns, String> {
    text.parse::<Ns>().map_err(|error| error.to_string())
}

//! The probes, loads, tunings and values that this version knows, as the command line names them.

use crate::machines;
use latido_agent::catalogue::Installed;
use latido_model::{
    catalogue::{Catalogue, Kind, List},
    units::Ns,
};

/// Every probe, load and tuning.
pub const CATALOGUE: &dyn Catalogue = &Installed;

/// Returns the list of one kind.
pub fn list(kind: Kind) -> List<'static> {
    CATALOGUE.list(kind)
}

/// Words the values of `--on`.
pub fn targets() -> String {
    let all: Vec<String> = machines::TARGETS.iter().filter(|def| !def.for_tests).map(machines::Def::written).collect();
    format!("The machine: {} [default: local]", all.join(" or "))
}

/// Reads the value of `--on`.
///
/// # Errors
/// There is no such target.
pub fn target(text: &str) -> Result<String, String> {
    machines::named(text).map(|_| text.into()).map_err(|error| format!("{error:#}"))
}

/// Reads the value of `--wait` and `--budget`.
///
/// # Errors
/// It is not a time.
pub fn span(text: &str) -> Result<Ns, String> {
    text.parse::<Ns>().map_err(|error| error.to_string())
}

//! What this version measures with, as the words of the command line ask for it.

use latido_agent::catalogue::Installed;
use latido_model::catalogue::{Catalogue, Kind, List};

/// Every probe, load and tuning.
pub const CATALOGUE: &dyn Catalogue = &Installed;

/// One list of them.
pub fn list(kind: Kind) -> List<'static> {
    CATALOGUE.list(kind)
}

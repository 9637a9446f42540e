//! What machine this is: the snapshot that every record carries.

use serde::{Deserialize, Serialize};

/// The machine at the start of a cell. `None` means that it could not be read here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Name in the network.
    pub hostname: String,
    /// `uname -r`.
    pub kernel: String,
}

impl Machine {
    /// Name and value of everything known, in the order in which reports print it.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        vec![("host", self.hostname.clone()), ("kernel", self.kernel.clone())]
    }
}

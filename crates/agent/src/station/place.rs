//! Where a station runs.

use crate::{
    far,
    machine::{LABORATORY, Root},
};
use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Where a station runs; written `local`, `netns`, `guest` or `ssh:[USER@]HOST`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Place {
    /// A process on this machine, over the loopback.
    #[default]
    Local,
    /// A process in a network namespace of this machine, over a virtual cable (veth).
    Netns,
    /// A process behind the second network card of a guest of the laboratory, over its hub.
    Guest,
    /// Another machine.
    Ssh(String),
}

impl Place {
    /// Checks that a station can run there at all.
    ///
    /// # Errors
    /// What this machine lacks, and what to use instead.
    pub fn can_be(&self, root: &Root) -> Result<()> {
        match self {
            Self::Netns => ensure!(
                root.exists("/proc/self/ns/net"),
                "this kernel has no network namespaces (CONFIG_NET_NS): use station=local"
            ),
            Self::Guest => ensure!(
                root.exists(LABORATORY),
                "`station` = \"guest\" takes a network card away from its machine, so it works only in a guest of the \
                 laboratory (--on lab --kernel NAME+net); for two machines use ssh:HOST"
            ),
            Self::Local | Self::Ssh(_) => {}
        }
        Ok(())
    }

    /// Returns the description of the station for the result, with its limits.
    pub fn worth(&self) -> Option<String> {
        Some(match self {
            Self::Local => return None,
            Self::Netns => {
                "a station in a network namespace of this machine, over veth: veth raises no interrupts, its packets \
                 are softirq work of the sender's CPU"
            }
            .into(),
            Self::Guest => {
                "a station behind the second network card of the same guest, over a hub: both cards raise interrupts, \
                 and the station's work is done by the guest's CPU too"
            }
            .into(),
            Self::Ssh(host) => format!("a station on {host} over the network, started by ssh"),
        })
    }
}

impl FromStr for Place {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text.split_once(':') {
            None if text == "local" => Self::Local,
            None if text == "netns" => Self::Netns,
            None if text == "guest" => Self::Guest,
            Some(("ssh", host)) => Self::Ssh(far::host(host)?),
            _ => bail!("`station` is local, netns, guest or ssh:[USER@]HOST; got `{text}`"),
        })
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|error: anyhow::Error| error.to_string())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Netns => f.write_str("netns"),
            Self::Guest => f.write_str("guest"),
            Self::Ssh(host) => write!(f, "ssh:{host}"),
        }
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_as_it_is_read() {
        for text in ["local", "netns", "guest", "ssh:root@board"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        for bad in ["", "ssh", "ssh:", "ssh:-oProxyCommand=x", "netns:x", "board"] {
            assert!(bad.parse::<Place>().is_err(), "{bad}");
        }
        assert!(Place::Netns.worth().unwrap().contains("no interrupts"));
    }
}

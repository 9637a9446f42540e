//! What a guest has besides its kernel: one table per board in `kernels/boards.toml`. A kernel's name takes boards after a `+`:
//! `6.12-rt+net`.

use anyhow::{Context, Result, bail, ensure};
use latido_model::suggest::nearest;
use serde::Deserialize;
use std::num::NonZeroU32;

/// Devices, and what they need.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// The name after a kernel's `+`; empty in a kernel's own file.
    #[serde(default)]
    pub name: String,
    /// A description in one line; empty in a kernel's own file.
    #[serde(default)]
    pub about: String,
    /// The number of CPUs; absent for one. With several CPUs the guest cannot count time in instructions: it has the host's time.
    #[serde(default)]
    pub cpus: Option<NonZeroU32>,
    /// QEMU's machine; absent for the kernel's default.
    #[serde(default)]
    pub machine: Option<String>,
    /// The back ends of network devices (QEMU's -netdev).
    #[serde(default)]
    pub netdevs: Vec<String>,
    /// The back ends of ports (QEMU's -chardev).
    #[serde(default)]
    pub chardevs: Vec<String>,
    /// The devices (QEMU's -device).
    #[serde(default)]
    pub devices: Vec<String>,
    /// Modules of the kernel's package that the guest loads, each with its parameters.
    #[serde(default)]
    pub modules: Vec<String>,
    /// The files that the guest then writes, `PATH=VALUE` each, for example to bind a device's driver.
    #[serde(default)]
    pub settings: Vec<String>,
}

/// The boards that come with latido.
const SHIPPED: &str = include_str!("../../../../kernels/boards.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shipped {
    board: Vec<Board>,
}

/// The ending of a kernel's name whose guest has several CPUs.
pub const MULTI_CPU: &str = "+multi-cpu";

/// Reads all boards.
///
/// # Errors
/// None in practice: a test reads them.
pub fn shipped() -> Result<Vec<Board>> {
    let all: Shipped = toml::from_str(SHIPPED).context("the boards that come with latido")?;
    Ok(all.board)
}

/// Returns the board with this name.
///
/// # Errors
/// There is no such board; the error names the nearest.
pub fn named(name: &str) -> Result<Board> {
    let mut all = shipped()?;
    match all.iter().position(|board| board.name == name) {
        Some(place) => Ok(all.swap_remove(place)),
        None => {
            bail!("the laboratory has no board `{name}`{}", nearest(name, all.iter().map(|board| board.name.as_str())))
        }
    }
}

impl Board {
    /// Returns the number of CPUs of the guest.
    pub fn cpus(&self) -> u32 {
        self.cpus.map_or(1, NonZeroU32::get)
    }

    /// Combines two boards.
    ///
    /// # Errors
    /// Both name a machine, or both a number of CPUs.
    pub fn and(mut self, other: Self) -> Result<Self> {
        ensure!(
            self.machine.is_none() || other.machine.is_none(),
            "two boards define a machine each, and a guest has one"
        );
        ensure!(self.cpus.is_none() || other.cpus.is_none(), "two boards set the number of CPUs");
        self.machine = self.machine.or(other.machine);
        self.cpus = self.cpus.or(other.cpus);
        self.netdevs.extend(other.netdevs);
        self.chardevs.extend(other.chardevs);
        self.devices.extend(other.devices);
        self.modules.extend(other.modules);
        self.settings.extend(other.settings);
        Ok(self)
    }
}

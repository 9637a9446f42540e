//! What a guest has besides its kernel: a table each in `kernels/boards.toml`. A kernel's name takes them behind a `+`:
//! `6.12-rt+net`.

use anyhow::{Context, Result, bail, ensure};
use latido_model::suggest::nearest;
use serde::Deserialize;
use std::num::NonZeroU32;

/// Devices, and what they need.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// What stands behind a kernel's `+`; nothing where a kernel's own file has it.
    #[serde(default)]
    pub name: String,
    /// One line; nothing where a kernel's own file has it.
    #[serde(default)]
    pub about: String,
    /// How many CPUs; absent, one. Several cannot be counted in instructions: the guest has the host's time.
    #[serde(default)]
    pub cpus: Option<NonZeroU32>,
    /// QEMU's machine; absent, that of the kernel.
    #[serde(default)]
    pub machine: Option<String>,
    /// What QEMU connects network devices to (-netdev).
    #[serde(default)]
    pub netdevs: Vec<String>,
    /// What QEMU connects ports to (-chardev).
    #[serde(default)]
    pub chardevs: Vec<String>,
    /// QEMU's devices (-device).
    #[serde(default)]
    pub devices: Vec<String>,
    /// Modules of the kernel's package that the guest loads, each with its parameters.
    #[serde(default)]
    pub modules: Vec<String>,
    /// What the guest writes then, `PATH=VALUE` each: a device's driver, for one.
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

/// What a kernel's name ends with whose guest has several CPUs.
pub const MULTI_CPU: &str = "+multi-cpu";

/// All of them.
///
/// # Errors
/// None in practice: a test reads them.
pub fn shipped() -> Result<Vec<Board>> {
    let all: Shipped = toml::from_str(SHIPPED).context("the boards that come with latido")?;
    Ok(all.board)
}

/// The board of this name.
///
/// # Errors
/// There is none, with the nearest.
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
    /// How many CPUs its guest has.
    pub fn cpus(&self) -> u32 {
        self.cpus.map_or(1, NonZeroU32::get)
    }

    /// With another one beside it.
    ///
    /// # Errors
    /// Each is a machine.
    pub fn and(mut self, other: Self) -> Result<Self> {
        ensure!(
            self.machine.is_none() || other.machine.is_none(),
            "two boards are a machine each, and a guest has one"
        );
        ensure!(self.cpus.is_none() || other.cpus.is_none(), "two boards say how many CPUs there are");
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

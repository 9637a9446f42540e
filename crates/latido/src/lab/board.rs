//! What a guest has besides its kernel: `kernels/boards/*.toml`, one file each and one line in [`SHIPPED`]. A kernel's name takes
//! them behind a `+`: `6.12-rt+net`.

use super::kernel::Kernel;
use anyhow::{Context, Result, bail, ensure};
use latido_model::suggest::nearest;
use serde::Deserialize;

/// Devices, and what they need.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// One line.
    pub about: String,
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
}

/// The boards that come with latido.
const SHIPPED: &[(&str, &str)] = &[
    ("net", include_str!("../../../../kernels/boards/net.toml")),
    ("hpet", include_str!("../../../../kernels/boards/hpet.toml")),
    ("parport", include_str!("../../../../kernels/boards/parport.toml")),
];

/// All of them by their names.
///
/// # Errors
/// None in practice: a test reads them.
pub fn shipped() -> Result<Vec<(&'static str, Board)>> {
    let read = |(name, text): &(&'static str, &str)| {
        Ok((*name, toml::from_str(text).with_context(|| format!("the board `{name}`"))?))
    };
    SHIPPED.iter().map(read).collect()
}

/// Puts boards of these names into a kernel's guest.
///
/// # Errors
/// There is no such board, or two that are a machine each.
pub fn put_in<'a>(kernel: &mut Kernel, names: impl Iterator<Item = &'a str>) -> Result<()> {
    for name in names {
        let Some((_, board)) = shipped()?.into_iter().find(|(known, _)| *known == name) else {
            bail!("the laboratory has no board `{name}`{}", nearest(name, SHIPPED.iter().map(|(known, _)| *known)));
        };
        if let Some(machine) = board.machine {
            ensure!(kernel.board.machine.is_none(), "the board `{name}` is a machine, and the guest has one already");
            kernel.board.machine = Some(machine);
        }
        kernel.board.netdevs.extend(board.netdevs);
        kernel.board.chardevs.extend(board.chardevs);
        kernel.board.devices.extend(board.devices);
        kernel.board.modules.extend(board.modules);
    }
    Ok(())
}

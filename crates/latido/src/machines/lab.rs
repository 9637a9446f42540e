//! The virtual laboratory: the plan's kernels, booted in emulation on this machine.

use super::{Def, Target, Unavailable, session::Session};
use crate::{
    lab::{fetch, front, kernels, qemu},
    stop::Stopped,
};
use anyhow::{Context, Result, ensure};
use latido_model::{
    cell::{LAB, lacks_kernel},
    plan::source::Problem,
};
use std::sync::Arc;

/// The list entry.
pub const DEF: Def = Def {
    name: LAB,
    about: "the kernels of the plan in emulation, with time counted in instructions: the same bytes each time, everywhere",
    for_tests: false,
    place: "",
    new: |place| {
        ensure!(
            place.is_empty(),
            "the target `lab` takes nothing after a colon: a plan's `kernel` names what it boots"
        );
        Ok(Box::new(Lab))
    },
};

struct Lab;

impl Target for Lab {
    fn open(&self, kernel: &str, _boot: u32, stopped: Stopped<'_>) -> Result<Session, Unavailable> {
        if let Some(why) = lacks_kernel(LAB, kernel) {
            return Err(Unavailable::NotHad(why));
        }
        // A plan may name a kernel that this latido does not have: latido skips its cells. The user must mend a file of their own.
        let kernel = kernels::named(kernel).map_err(|error| match error.is::<Problem>() {
            true => Unavailable::Failed(error),
            false => Unavailable::NotHad(format!("{error:#}")),
        })?;
        qemu::version(kernel.arch)?;
        let fetched = fetch::kernel(&kernel, false, crate::output::tell)?;
        let output = front::open(kernel, fetched)?;
        let input = output.try_clone().context("a stream to the laboratory")?;
        let session = Session::on(Box::new(input), Box::new(output), None, Arc::default(), "the laboratory", stopped)?;
        Ok(session.of_our_own())
    }
}

//! ssh
use super::{Def, Target, Unavailable, session::Session};
use anyhow::Result;
/// The list entry.
pub const DEF: Def = Def { name: "ssh", about: "", place: "[USER@]HOST", new: |_| Ok(Box::new(Ssh)) };
struct Ssh;
impl Target for Ssh {
    fn open(&self, _kernel: &str, _boot: u32) -> Result<Session, Unavailable> {
        Err(Unavailable::NotHad("soon".into()))
    }
}

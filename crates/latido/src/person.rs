//! Work as the person behind sudo: their files are read and written in their name while root measures.

use anyhow::{Context, Result};
pub use latido_agent::person::Person;
use latido_sys::identity;

/// Reaches files from here on as the person behind sudo, if there is one: the kernel then follows no path further than
/// they could, and what is made is theirs. To be called before there is a second thread.
///
/// # Errors
/// The kernel refuses, with the remedy.
pub fn take_on() -> Result<()> {
    let Some(person) = Person::behind_sudo() else { return Ok(()) };
    identity::take_on(person.identity()).with_context(|| {
        let uid = person.uid;
        format!("cannot work with the files of user {uid}, who called sudo; as root alone: env -u SUDO_UID latido ...")
    })
}

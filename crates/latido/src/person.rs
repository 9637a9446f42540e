//! Works as the user who called sudo: latido reads and writes that user's files with that user's rights while root measures.

use anyhow::{Context, Result};
pub use latido_agent::person::Person;
use latido_sys::identity;

/// From here on, latido accesses files as the user behind sudo, if there is one. The kernel then follows only paths that this user could
/// follow, and new files belong to the user. Call this before there is a second thread.
///
/// # Errors
/// The kernel refuses, with the remedy.
pub fn take_on() -> Result<()> {
    let Some(person) = Person::behind_sudo() else { return Ok(()) };
    identity::take_on(person.identity()).with_context(|| {
        let uid = person.uid;
        format!(
            "cannot work with the files of user {uid}, who called sudo; to run as root only: env -u SUDO_UID latido \
             ..."
        )
    })
}

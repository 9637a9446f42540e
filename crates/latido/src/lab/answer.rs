//! Answers of guests that measured nothing, kept in the laboratory's cache. The same image gives the same answer, so latido asks a kernel
//! only once what it offers.

use super::{cache::Cache, image::Image};
use anyhow::{Context, Result};
use latido_model::{machine::Emulated, protocol::hex};
use sha2::{Digest, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The most answers in the cache; latido removes the oldest.
const MOST: usize = 64;

/// The place of a guest's answer in the cache.
#[derive(Debug)]
pub struct Answer {
    /// The SHA-256 of everything on which the answer depends.
    key: String,
}

impl Answer {
    /// Returns the place for an image and the description of its boot.
    ///
    /// # Errors
    /// A file of the image cannot be read.
    pub fn of(image: &Image, about: &Emulated) -> Result<Self> {
        let mut hash = Sha256::new();
        hash.update(serde_json::to_vec(about)?);
        image.write(&mut hash)?;
        Ok(Self { key: hex(&hash.finalize()) })
    }

    /// Reads the answer, if the cache has it. Any error counts as "no answer": latido can boot the guest again.
    pub fn read(&self) -> Option<Vec<u8>> {
        let cache = Cache::open().ok()?;
        whole(&fs::read(path(cache.dir(), &self.key)).ok()?)
    }

    /// Stores the answer.
    ///
    /// # Errors
    /// The cache cannot be written.
    pub fn write(&self, answer: &[u8]) -> Result<()> {
        let cache = Cache::open()?;
        let path = path(cache.dir(), &self.key);
        let dir = path.parent().context("a file lies somewhere")?;
        fs::create_dir_all(dir).with_context(|| format!("{}", dir.display()))?;
        thin(dir);
        let new = cache.dir().join("new-answer");
        fs::write(&new, [Sha256::digest(answer).as_slice(), answer].concat())
            .and_then(|()| fs::rename(&new, &path))
            .with_context(|| format!("{}", path.display()))
    }
}

fn path(cache: &Path, key: &str) -> PathBuf {
    cache.join("answers").join(key)
}

/// Returns the answer after its checksum, if that is right: a power cut may have truncated it.
fn whole(bytes: &[u8]) -> Option<Vec<u8>> {
    let (sum, answer) = bytes.split_at_checked(32)?;
    (Sha256::digest(answer).as_slice() == sum).then(|| answer.to_vec())
}

/// Removes the oldest answers if there are too many.
fn thin(dir: &Path) {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut all: Vec<_> =
        files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).collect();
    all.sort();
    for (_, path) in all.iter().take((all.len() + 1).saturating_sub(MOST)) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A truncated or changed answer is refused.
    #[test]
    fn an_answer_is_whole_or_none() {
        let bytes = [Sha256::digest(b"words").as_slice(), b"words"].concat();
        assert_eq!(whole(&bytes).unwrap(), b"words");
        assert!((0..bytes.len()).all(|cut| whole(&bytes[..cut]).is_none()));
        let mut other = bytes;
        other[40 - 5] ^= 1;
        assert_eq!(whole(&other), None);
    }

    /// Another image or another emulator has another place.
    #[test]
    fn a_place_is_all_that_an_answer_depends_on() {
        use crate::lab::image::Member;
        use latido_model::protocol::Request;
        let key = |seed: u64, emulator: &str| {
            let about = Emulated { emulator: emulator.into(), ..Emulated::default() };
            let image = Image::default().asking(&[Request::Recover], Member::of(seed), &about).unwrap();
            Answer::of(&image, &about).unwrap().key
        };
        assert_eq!(key(1, "7.2"), key(1, "7.2"));
        assert_ne!(key(1, "7.2"), key(2, "7.2"));
        assert_ne!(key(1, "7.2"), key(1, "10.0"));
    }

    /// Of three answers too many, the four oldest go, so that there is room for the next one.
    #[test]
    fn the_oldest_go_where_there_are_too_many() {
        let dir = tempfile::tempdir().unwrap();
        let path = |number: usize| dir.path().join(number.to_string());
        for number in 0..MOST + 3 {
            let written = std::time::UNIX_EPOCH + std::time::Duration::from_secs(number as u64);
            fs::File::create(path(number)).unwrap().set_modified(written).unwrap();
        }
        thin(dir.path());
        let left: Vec<usize> = (0..MOST + 3).filter(|number| path(*number).exists()).collect();
        assert_eq!(left, (4..MOST + 3).collect::<Vec<_>>());
    }
}

//! Outputs of other tools: the files of `tests/samples.tar`, which the tests unpack once below the build directory.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The folder with a subfolder for each tool.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| unpacked(Path::new(env!("CARGO_MANIFEST_DIR")), Path::new(env!("CARGO_TARGET_TMPDIR"))))
}

/// Unpacks the archive of the workspace that contains `crate_folder`, unless another test already has.
fn unpacked(crate_folder: &Path, into: &Path) -> PathBuf {
    let archive = crate_folder.join("../import/tests/samples.tar");
    let facts = archive.metadata().unwrap_or_else(|error| panic!("{}: {error}", archive.display()));
    let changed = facts.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let folder = into.join(format!("samples-{}-{changed}", facts.len()));
    if !folder.exists() {
        let own = into.join(format!("samples-of-{}", std::process::id()));
        std::fs::create_dir_all(&own).unwrap();
        let status = Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&own).status().unwrap();
        assert!(status.success(), "tar cannot unpack {}", archive.display());
        // If another process was quicker, its folder stays.
        if std::fs::rename(&own, &folder).is_err() {
            std::fs::remove_dir_all(&own).unwrap();
        }
    }
    folder
}

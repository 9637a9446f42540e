//! The samples and the functions that read them, shared by the tests of importers.

use latido_import::{Asked, Imported, Interval, recognised};

/// The bytes of a sample.
pub fn sample(name: &str) -> Vec<u8> {
    let path = crate::samples::folder().join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads bytes with the one format that recognises them.
pub fn read(bytes: &[u8], args: &str) -> anyhow::Result<Imported> {
    let formats = recognised(bytes);
    let names: Vec<_> = formats.iter().map(|format| format.name).collect();
    let [format] = formats[..] else { panic!("recognised as {names:?}") };
    format.import(bytes, &Asked { args: (!args.is_empty()).then(|| args.into()), ..Asked::default() })
}

/// Reads a sample.
pub fn import(name: &str, args: &str) -> Imported {
    read(&sample(name), args).unwrap_or_else(|error| panic!("{name}: {error:#}"))
}

/// The count, smallest and largest value of each series.
pub fn figures(imported: &Imported) -> Vec<(Option<u64>, Option<Interval>, Option<Interval>)> {
    imported.series.iter().map(|series| (series.count, series.min, series.max)).collect()
}

/// The names of all samples.
pub fn samples() -> Vec<String> {
    let mut names = Vec::new();
    for tool in std::fs::read_dir(crate::samples::folder()).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        for file in std::fs::read_dir(tool.path()).unwrap().flatten() {
            names.push(format!("{}/{}", tool.file_name().to_string_lossy(), file.file_name().to_string_lossy()));
        }
    }
    names.sort();
    names
}

/// The figures of a file that its reader does not believe, one line for each.
pub fn doubts(imported: &Imported) -> Vec<&str> {
    imported.findings.iter().filter(|one| one.name == "not believed").map(|one| one.text.as_str()).collect()
}

// The texts of tracers under `data/`: each file there has several, each below a line `==> NAME <==`. Tests of two crates include this file:
// it needs only the directory of this crate.

/// Returns the texts of the kernels and forms below `data/` by their names, as in `6.12-rt/hwlat`.
#[allow(dead_code)]
fn texts_below(crate_dir: &str) -> std::collections::BTreeMap<String, Vec<u8>> {
    texts_of(crate_dir, &["6.12-rt", "6.1-rt", "form"])
}

/// Returns the texts of these files.
#[allow(dead_code)]
fn texts_of(crate_dir: &str, files: &[&str]) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    for file in files {
        let path = format!("{crate_dir}/tests/data/{file}.txt");
        let whole = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut text: Option<&mut Vec<u8>> = None;
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            let name = line.strip_prefix(b"==> ").and_then(|rest| rest.strip_suffix(b" <==\n"));
            match (name, &mut text) {
                (Some(name), _) => {
                    let name = format!("{file}/{}", String::from_utf8_lossy(name));
                    assert!(!found.contains_key(&name), "{path} has two texts of the name {name}");
                    text = Some(found.entry(name).or_default());
                }
                (None, Some(text)) => text.extend_from_slice(line),
                (None, None) => panic!("{path} does not begin with the name of a text"),
            }
        }
    }
    found
}

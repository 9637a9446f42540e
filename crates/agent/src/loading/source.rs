//! A tree of C source: the same seed gives the same tree. It is searched, archived and compiled, never run.

use anyhow::{Context, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::{fmt::Write, fs, path::Path};

/// The word that a search looks for. About one file in four contains it.
pub const NEEDLE: &str = "latido_needle";

/// The number of files per directory.
const TOGETHER: u32 = 32;

/// Returns the approximate length of a file with this many functions, in bytes.
pub fn length(functions: u32) -> u64 {
    400 * u64::from(functions) + 200
}

/// Returns the path of a unit below the top, without its extension: `part3/unit99`.
pub fn unit(number: u32) -> String {
    format!("part{}/unit{number}", number / TOGETHER)
}

/// Writes `units` C files of `functions` functions each, `shared.h` that declares them and `main.c` that calls them.
///
/// # Errors
/// The directory cannot be written.
pub fn write(dir: &Path, units: u32, functions: u32, seed: u64) -> Result<()> {
    let save = |name: &str, text: &str| {
        fs::write(dir.join(name), text).with_context(|| format!("cannot write {}", dir.join(name).display()))
    };
    let (mut header, mut main) = (String::from("#pragma once\n"), String::from("#include \"shared.h\"\n"));
    main.push_str("int main(int argc, char **argv) {\n  unsigned sum = 0;\n  (void)argv;\n");
    for number in 0..units {
        let part = dir.join(format!("part{}", number / TOGETHER));
        fs::create_dir_all(&part).with_context(|| format!("cannot make {}", part.display()))?;
        let mut random = ChaCha8Rng::seed_from_u64(seed.wrapping_add(u64::from(number)));
        save(&format!("{}.c", unit(number)), &text(number, functions, &mut random))?;
        header.push_str(&format!("unsigned unit{number}(const unsigned *v, unsigned n);\n"));
        main.push_str(&format!("  sum += unit{number}((const unsigned *)&argc, 1u);\n"));
    }
    main.push_str("  return (int)(sum & 127u);\n}\n");
    save("shared.h", &header)?;
    save("main.c", &main)
}

fn text(number: u32, functions: u32, random: &mut ChaCha8Rng) -> String {
    let mut out = String::from("#include \"shared.h\"\n");
    if random.random_range(0..4) == 0 {
        _ = writeln!(out, "/* {NEEDLE} */");
    }
    for function in 0..functions {
        _ = writeln!(out, "static unsigned f{function}(const unsigned *v, unsigned n) {{");
        _ = writeln!(out, "  unsigned s = {}u;\n  for (unsigned i = 0; i < n; i++) {{", random.random::<u32>());
        _ = writeln!(out, "    switch (v[i] % 5u) {{");
        for case in 0..4 {
            let (factor, shift) = (random.random::<u32>(), random.random_range(1..31));
            _ = writeln!(out, "    case {case}: s = (s ^ v[i] * {factor}u) + (s >> {shift}); break;");
        }
        _ = writeln!(out, "    default: s += i * {}u;\n    }}\n  }}\n  return s;\n}}", random.random::<u32>());
    }
    _ = writeln!(out, "unsigned unit{number}(const unsigned *v, unsigned n) {{\n  unsigned s = {number}u;");
    for function in 0..functions {
        _ = writeln!(out, "  s += f{function}(v, n);");
    }
    out.push_str("  return s;\n}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(seed: u64) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 40, 3, seed).unwrap();
        (0..40).map(|number| fs::read_to_string(dir.path().join(format!("{}.c", unit(number)))).unwrap()).collect()
    }

    #[test]
    fn a_seed_is_a_tree_and_the_needle_is_in_some_files() {
        assert_eq!(tree(7), tree(7));
        assert_ne!(tree(7), tree(8));
        let with = tree(7).iter().filter(|text| text.contains(NEEDLE)).count();
        assert!((1..40).contains(&with), "{with}");
    }

    #[test]
    fn the_length_is_about_what_is_said() {
        for functions in [1, 10, 40] {
            let text = text(1, functions, &mut ChaCha8Rng::seed_from_u64(1));
            let said = length(functions);
            assert!((said / 2..=said * 2).contains(&(text.len() as u64)), "{functions}: {} {said}", text.len());
        }
    }
}

//! Any words, one per line, after `latido run --print-plan`: a plan, or a complaint.
#![no_main]

use clap::Parser;
use latido::cli::Cli;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let words = text.lines().take(20);
    // Another target covers files; here no word may open one.
    let words: Vec<&str> = words.filter(|word| !word.contains('/') && !word.contains(".toml")).collect();
    match Cli::try_parse_from(["latido", "run", "--print-plan"].into_iter().chain(words)) {
        Ok(cli) => drop(cli.run().map_err(|error| format!("{error:#}"))),
        Err(error) => drop(error.to_string()),
    }
});

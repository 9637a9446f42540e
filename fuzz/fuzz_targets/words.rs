//! Any word as a load, tuning or probe with options: an answer; an accepted word becomes TOML with the same name.
#![no_main]

use latido::cli::{
    known::list,
    words::{asked, options, split},
};
use latido_model::catalogue::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|word: &str| {
    for kind in Kind::ALL {
        let Ok(asked) = asked(list(kind), word) else { continue };
        let text = format!("it = {}", asked.toml);
        let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
        let name = word.split_once(':').map_or(word, |(name, _)| name);
        assert_eq!(table["it"]["name"].as_str(), Some(name), "{text}");
    }
    if let Ok(pairs) = options(word, Some("main")) {
        let said: usize = pairs.iter().map(|(_, value)| value.len()).sum();
        assert!(said <= word.len());
        let mut keys: Vec<_> = pairs.iter().map(|(key, _)| key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), pairs.len(), "a key twice");
    }
    let _ = split(word, |_| None);
});

//! "Did you mean": the nearest correct word for a wrong one.

/// Returns ` (did you mean `x`?)`, or nothing if no candidate is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    match closest(word, candidates) {
        Some(candidate) => format!(" (did you mean `{candidate}`?)"),
        None => String::new(),
    }
}

/// Returns the nearest candidate, if it is near enough.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    #[test]
    fn finds_what_was_meant() {
        assert_eq!(super::closest("wakup", ["wakeup", "gap"]), Some("wakeup"));
        assert_eq!(super::closest("banana", ["wakeup", "gap"]), None);
    }
}

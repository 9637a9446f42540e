//! Shortens names that are too long for their place. The short forms keep the words in which the names differ.

use std::collections::BTreeMap;

/// The least number of letters that a shortened word keeps. With fewer the reader cannot recognise it.
const FEW_LETTERS: usize = 4;

/// Returns the names of one figure or table, shortened where they do not fit. A shortened name keeps its first word and the words that
/// distinguish it from the others, and as much of the rest as fits; a path keeps its end. Two different names never get the same short
/// form.
pub fn apart(names: &[&str], fits: impl Fn(&str) -> bool) -> Vec<String> {
    let words: Vec<Vec<&str>> = names.iter().map(|name| words(name)).collect();
    let ends = Ends::of(names);
    let mut told: Vec<String> = Vec::with_capacity(names.len());
    // Which name each short form belongs to.
    let mut whose: BTreeMap<String, &str> = BTreeMap::new();
    for (own, name) in words.iter().zip(names) {
        let mut short = match fits(name) {
            true => (*name).to_owned(),
            false => end_of_path(name, &ends, &fits).unwrap_or_else(|| {
                let from = told.len().saturating_sub(COMPARED / 2).min(words.len().saturating_sub(COMPARED));
                let beside = words.get(from..words.len().min(from + COMPARED)).unwrap_or_default();
                shortened(own, beside, &fits)
            }),
        };
        if whose.get(&short).is_some_and(|other| other != name) {
            let number = format!(" #{}", told.len() + 1);
            short = cut(name, |text| fits(&format!("{text}{number}"))) + &number;
        }
        whose.entry(short.clone()).or_insert(name);
        told.push(short);
    }
    told
}

/// Splits a name into words, each with the punctuation that follows it: `cpu-`, `1, `, `fifo `, `80`.
fn words(name: &str) -> Vec<&str> {
    let ends = |(at, c): (usize, char)| {
        let next = name.get(at + c.len_utf8()..).and_then(|rest| rest.chars().next());
        (!c.is_alphanumeric() && next.is_some_and(char::is_alphanumeric)).then_some(at + c.len_utf8())
    };
    let mut words = Vec::new();
    let mut from = 0;
    for to in name.char_indices().filter_map(ends).chain([name.len()]) {
        words.extend(name.get(from..to).filter(|word| !word.is_empty()));
        from = to;
    }
    words
}

/// Returns a word without the punctuation that follows it.
fn said(word: &str) -> &str {
    word.trim_end_matches(|c: char| !c.is_alphanumeric())
}

/// With how many other names `apart` compares a name that does not fit; it takes the nearest in the list. In a longer list the reader's eye
/// does not compare all names either, and `apart` numbers names whose short forms are equal.
const COMPARED: usize = 200;

/// The names, each reversed, in ascending order.
struct Ends(Vec<String>);

impl Ends {
    fn of(names: &[&str]) -> Self {
        let mut all: Vec<String> = names.iter().map(|name| name.chars().rev().collect()).collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    /// Returns whether at most one name ends with `end`.
    fn is_ones(&self, end: &str) -> bool {
        let end: String = end.chars().rev().collect();
        let from = self.0.partition_point(|name| *name < end);
        !self.0.get(from + 1).is_some_and(|name| name.starts_with(&end))
    }
}

/// Returns the longest end of a name that fits, if the name begins with a path and no other name has this end: `…/boot/vmlinuz-6.12-rt,
/// busy`. The end starts at a directory where possible.
fn end_of_path(name: &str, names: &Ends, fits: &impl Fn(&str) -> bool) -> Option<String> {
    name.split([',', ' ']).next().filter(|first| first.contains('/'))?;
    let ends = name.char_indices().skip(1).filter_map(|(at, _)| name.get(at..));
    let mut ends = ends.filter(|end| fits(&format!("…{end}")));
    let longest = ends.next()?;
    let whole = longest.find('/').and_then(|at| longest.get(at..));
    let alone = |end: &&str| names.is_ones(end);
    whole.into_iter().chain([longest]).find(alone).map(|end| format!("…{end}"))
}

fn shortened(own: &[&str], all: &[Vec<&str>], fits: &impl Fn(&str) -> bool) -> String {
    let mut kept = vec![false; own.len()];
    kept.iter_mut().take(1).for_each(|first| *first = true);
    for other in all.iter().filter(|other| *other != own) {
        let lacks = |word: &&str| !other.iter().any(|known| said(known) == said(word));
        // If the other name has all words of this one, the two differ in the number or the order of their words.
        let differs = own.iter().position(lacks).or_else(|| (0..own.len()).find(|i| own.get(*i) != other.get(*i)));
        if let Some(place) = differs.and_then(|i| kept.get_mut(i)) {
            *place = true;
        }
    }
    let mut best = joined(own, &kept);
    // Words next to a kept word explain it. Words before kept words come first, the nearest first, then the words after the last kept one.
    let mut order: Vec<usize> = (0..own.len()).filter(|i| kept.get(*i) == Some(&false)).collect();
    let last = kept.iter().rposition(|kept| *kept).unwrap_or(0);
    let next = |i: &usize| kept.iter().skip(*i).position(|kept| *kept).unwrap_or(i.saturating_sub(last));
    order.sort_by_key(|i| (next(i), std::cmp::Reverse(*i)));
    for i in order {
        let mut more = kept.clone();
        more.iter_mut().skip(i).take(1).for_each(|place| *place = true);
        let text = joined(own, &more);
        if fits(&text) {
            (kept, best) = (more, text);
        }
    }
    if fits(&best) { begun(own, &kept, fits).unwrap_or(best) } else { cut(&best, fits) }
}

/// Adds the beginning of the first word that was left out, if at least [`FEW_LETTERS`] of its letters fit: `rt-interfere…` is more useful
/// than `rt…`.
fn begun(own: &[&str], kept: &[bool], fits: &impl Fn(&str) -> bool) -> Option<String> {
    let first = kept.iter().position(|kept| !kept)?;
    let word: Vec<char> = own.get(first)?.chars().collect();
    (FEW_LETTERS..word.len()).rev().find_map(|letters| {
        let (mut words, mut kept) = (own.to_vec(), kept.to_vec());
        let beginning: String = word.iter().take(letters).collect();
        words.insert(first, &beginning);
        kept.insert(first, true);
        Some(joined(&words, &kept)).filter(|text| fits(text))
    })
}

/// Joins the kept words and puts `…` in place of the others.
fn joined(words: &[&str], kept: &[bool]) -> String {
    let mut text = String::new();
    for (word, kept) in words.iter().zip(kept) {
        match kept {
            true => text.push_str(word),
            false if text.ends_with('…') => (),
            false => {
                text.truncate(said(&text).len());
                text.push('…');
            }
        }
    }
    text
}

/// Returns the beginning and the end of a text, as much of both as fits.
fn cut(text: &str, fits: impl Fn(&str) -> bool) -> String {
    let all: Vec<char> = text.chars().collect();
    let halves = |keep: usize| -> String {
        let (head, tail) = (keep.div_ceil(2), keep / 2);
        let end = all.iter().skip(all.len().saturating_sub(tail));
        all.iter().take(head).chain([&'…']).chain(end).collect()
    };
    let keep = (0..all.len()).rev().find(|keep| fits(&halves(*keep)));
    halves(keep.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(names: &[&str], most: usize) -> Vec<String> {
        apart(names, |text| text.chars().count() <= most)
    }

    #[test]
    fn what_differs_stays() {
        let names = [
            "memory-pressure-with-forking-workers-on-every-cpu-1, fifo 80",
            "memory-pressure-with-forking-workers-on-every-cpu-1, other",
            "memory-pressure-with-forking-workers-on-every-cpu-2, fifo 80",
            "none, other",
        ];
        let told = of(&names, 28);
        assert_eq!(told[0], "memory…every-cpu-1, fifo 80");
        assert_eq!(told[1], "memory…on-every-cpu-1, other");
        assert_eq!(told[2], "memory…every-cpu-2, fifo 80");
        assert_eq!(told[3], "none, other", "what fits stays whole");
        assert_eq!(of(&["one-name-that-nothing-stands-beside"], 12), ["one-name…"]);
        assert_eq!(of(&["rt-interference"], 13), ["rt-interfere…"]);
    }

    #[test]
    fn a_path_keeps_its_end() {
        let names = [
            "/cache/linux-6.12-rt-amd64/boot/vmlinuz-6.12-rt-amd64",
            "/cache/linux-6.12-amd64/boot/vmlinuz-6.12-amd64:preempt=full",
            "kernels/of/mine/vmlinuz-6.12-amd64, busy",
            "6.12-rt",
        ];
        let told = of(&names, 32);
        assert_eq!(told[0], "…/boot/vmlinuz-6.12-rt-amd64");
        assert_eq!(told[1], "…vmlinuz-6.12-amd64:preempt=full", "not from a directory on, if it cannot");
        assert_eq!(told[2..], ["…/mine/vmlinuz-6.12-amd64, busy", "6.12-rt"]);
        // Where the end does not distinguish the names, the words that differ stay.
        let told = of(&["/one/kernels/of/mine/vmlinuz", "/two/kernels/of/mine/vmlinuz"], 20);
        assert!(told[0].contains("one") && told[1].contains("two"), "{told:?}");
    }

    proptest! {
        /// Whatever the names and the room, two different names never get the same short form.
        #[test]
        fn different_names_stay_different(
            names in proptest::collection::vec("[/ab]{1,6}([-, _/][abc1]{0,4}){0,6}", 1..9),
            most in 8usize..40,
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let told = of(&names, most);
            prop_assert_eq!(told.len(), names.len());
            for (i, one) in told.iter().enumerate() {
                for (k, other) in told.iter().enumerate().skip(i + 1) {
                    prop_assert!(one != other || names[i] == names[k], "{names:?} became {told:?}");
                }
                prop_assert!(one.chars().count() <= most, "{one} of {most}");
            }
        }
    }
}

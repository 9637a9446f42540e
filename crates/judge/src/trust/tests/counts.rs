//! Findings with a count of one: the noun is in the singular.

use super::finding;

#[test]
fn what_happened_once_is_told_as_once() {
    let pinning = |times| finding("pinning", |r| r.quality.threads[0].migrations = Some(times)).text();
    assert_eq!(pinning(1), "the thread of CPU 0 left it 1 time");
    assert_eq!(pinning(2), "the thread of CPU 0 left it 2 times");
    let backwards = |times| finding("clock", |r| r.quality.clock.backwards = times).text();
    assert_eq!([backwards(1), backwards(2)], ["monotonic ran backwards 1 time", "monotonic ran backwards 2 times"]);
    let negative = |samples| finding("clock", |r| r.series[0].negative = samples).text();
    assert_eq!(negative(1), "1 sample of monotonic is below zero");
    assert_eq!(negative(2), "2 samples of monotonic are below zero");
    let moved = finding("page faults", |r| {
        r.quality.threads[0].minor_faults = 1;
        r.quality.moved_pages = Some(1);
    });
    assert!(moved.text().contains("tried to move 1 page of any program"), "{}", moved.text());
}

//! What is drawn must be valid and must fit.

use super::*;

#[test]
fn hostile_text_stays_text() {
    let mut svg = Svg::new(10.0, 10.0);
    svg.text("t", (1.0, 2.0), Anchor::Start, "<script>alert('&\"')</script>\u{0}");
    svg.rect("r", (0.0, 0.0), (1.0, 1.0), "</title><script>");
    let drawing = svg.finish(None, "<b>", "\"&");
    let text = drawing.inline();
    assert!(!text.contains("<script>") && !text.contains("<b>") && !text.contains('\u{0}'), "{text}");
    assert!(text.contains("&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;"), "{text}");
}

#[test]
fn nothing_infinite_reaches_an_attribute() {
    assert_eq!([f64::NAN, f64::INFINITY, -0.04, 1.25, -0.5].map(number), ["0", "0", "0", "1.3", "-.5"]);
    let mut pen = Pen::default();
    pen.go(f64::NAN, 1.0);
    pen.line(f64::INFINITY, 2.0);
    assert_eq!(pen.data(), "m0 1v1");
}

#[test]
fn paths_are_short_and_exact() {
    let mut pen = Pen::default();
    pen.go(10.0, 20.0);
    pen.line(11.5, 18.0);
    pen.line(13.0, 18.0);
    pen.line(14.0, 17.6);
    pen.line(14.0, 17.4);
    pen.dot(1.0, 1.0);
    pen.dot(2.0, 3.0);
    assert_eq!(pen.data(), "m10 20 1.5-2h1.5l1-.5m-13-16.5h0m1 2h0");
}

/// Returns the end point of each step of a path, as an SVG reader computes it.
fn followed(data: &str) -> Vec<(i64, i64)> {
    let (mut at, mut start, mut points) = ((0, 0), (0, 0), Vec::new());
    let tenth = |text: &str| (text.parse::<f64>().unwrap() * 10.0).round() as i64;
    let bytes: Vec<char> = data.chars().collect();
    let (mut k, mut command) = (0, 'm');
    let number = |k: &mut usize| {
        while bytes[*k] == ' ' {
            *k += 1;
        }
        let from = *k;
        let mut dot = false;
        while *k < bytes.len()
            && (bytes[*k].is_ascii_digit() || (*k == from && bytes[*k] == '-') || (bytes[*k] == '.' && !dot))
        {
            dot |= bytes[*k] == '.';
            *k += 1;
        }
        tenth(&bytes[from..*k].iter().collect::<String>())
    };
    while k < bytes.len() {
        if bytes[k].is_ascii_alphabetic() {
            command = bytes[k];
            k += 1;
        }
        match command {
            'z' => at = start,
            'h' => at.0 += number(&mut k),
            'v' => at.1 += number(&mut k),
            _ => at = (at.0 + number(&mut k), at.1 + number(&mut k)),
        }
        if command == 'm' {
            (start, command) = (at, 'l');
        }
        if command != 'z' {
            points.push(at);
        }
    }
    points
}

/// After an outline is closed, the next one starts at its given point, not at the last point.
#[test]
fn outlines_do_not_shift_each_other() {
    let mut pen = Pen::default();
    let outlines = [[(10.0, 10.0), (20.0, 12.5), (15.0, 30.0)], [(50.0, 10.0), (60.0, 60.0), (55.5, 70.0)]];
    for [first, rest @ ..] in outlines {
        pen.go(first.0, first.1);
        rest.iter().for_each(|(x, y)| pen.line(*x, *y));
        pen.close();
    }
    pen.go(5.0, 5.0);
    pen.line(6.0, 7.0);
    let expected: Vec<(i64, i64)> =
        [100, 200, 150, 500, 600, 555, 50, 60].into_iter().zip([100, 125, 300, 100, 600, 700, 50, 70]).collect();
    assert_eq!(followed(pen.data()), expected, "{}", pen.data());
}

#[test]
fn long_names_are_shortened() {
    assert_eq!(fit("short", 11.0, 100.0), "short");
    let long = fit(&"x".repeat(100), 11.0, 100.0);
    assert!(long.ends_with('…') && text_width(&long, 11.0) <= 105.0, "{long}");
}

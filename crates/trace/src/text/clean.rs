//! Cleans lines that people copied from terminals, mails, web pages and other systems' editors. Every reader of text in latido starts here;
//! what it removes is not part of the measurement.

use std::borrow::Cow;

/// Returns a text without the byte order mark that some editors put first.
pub fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Returns a text in UTF-8. It converts a text in UTF-16, which starts with a byte order mark; any other text stays as it is.
pub fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    let (rest, big) = match bytes {
        [0xff, 0xfe, rest @ ..] => (rest, false),
        [0xfe, 0xff, rest @ ..] => (rest, true),
        _ => return Cow::Borrowed(bytes),
    };
    let unit = |pair: &[u8]| match pair {
        [first, second] if big => u16::from_be_bytes([*first, *second]),
        [first, second] => u16::from_le_bytes([*first, *second]),
        _ => 0xfffd,
    };
    let characters = char::decode_utf16(rest.chunks(2).map(unit));
    let text: String = characters.map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Cow::Owned(text.into_bytes())
}

/// Returns a line without the sequences that move cursors and set colours: `ESC [ ... letter` and `ESC c`.
pub fn plain(line: &[u8]) -> Cow<'_, [u8]> {
    if !line.contains(&0x1b) {
        return Cow::Borrowed(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != 0x1b {
            plain.push(byte);
        } else if rest.next() == Some(b'[') {
            let _ = rest.by_ref().find(u8::is_ascii_alphabetic);
        }
    }
    Cow::Owned(plain)
}

/// Returns a line without the quotation marks of a mail, and without blanks and a carriage return at its end.
pub fn bare(line: &[u8]) -> &[u8] {
    let mut line = line.trim_ascii_end();
    // Some mails start a quotation with a blank.
    while let Some(quoted) = line.strip_prefix(b">").or_else(|| line.strip_prefix(b" >")) {
        line = quoted.strip_prefix(b" ").unwrap_or(quoted);
    }
    line
}

/// Returns a line without all of these, with blanks instead of the non-breaking blanks of web pages and the tabs of editors.
pub fn line(line: &[u8]) -> Cow<'_, [u8]> {
    const BLANK: &[u8] = b"\xc2\xa0";
    if !line.iter().any(|byte| matches!(byte, 0x1b | b'\t' | 0xc2)) {
        return Cow::Borrowed(bare(line));
    }
    let (whole, mut clean) = (plain(line), Vec::with_capacity(line.len()));
    let mut rest: &[u8] = &whole;
    while let Some((first, behind)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(BLANK) {
            clean.push(b' ');
            rest = behind;
        } else {
            clean.push(if *first == b'\t' { b' ' } else { *first });
            rest = behind;
        }
    }
    Cow::Owned(bare(&clean).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_went_through_leaves_no_mark() {
        for (given, wanted) in [
            (&b"sh-1 [000] 1.0: x\r"[..], "sh-1 [000] 1.0: x"),
            (b"> > sh-1 [000]", "sh-1 [000]"),
            (b">> sh-1", "sh-1"),
            (b">", ""),
            (b" > sh", "sh"),
            (b">  => schedule", " => schedule"),
            (b"\x1b[1;32m> sh\x1b[0m-1\x1b[K", "sh-1"),
            (b"sh-1\t[000]\xc2\xa0x", "sh-1 [000] x"),
            (b"  a > b ", "  a > b"),
        ] {
            assert_eq!(String::from_utf8_lossy(&line(given)), wanted, "{given:?}");
        }
        assert_eq!(unmarked(b"\xef\xbb\xbf# tracer"), b"# tracer");
    }

    #[test]
    fn a_text_of_sixteen_bits_is_converted() {
        let little: Vec<u8> = "\u{feff}# tr\u{e4}cer\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "\u{feff}# tr\u{e4}cer\r\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for text in [little, big] {
            assert_eq!(String::from_utf8_lossy(&decoded(&text)), "# tr\u{e4}cer\r\n");
        }
        assert_eq!(&*decoded(b"\xff\xfea"), "\u{fffd}".as_bytes());
        assert_eq!(&*decoded(b"\x17\x08\x44"), b"\x17\x08\x44");
    }
}

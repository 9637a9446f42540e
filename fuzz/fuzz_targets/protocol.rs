//! Any bytes as the agent's stream: messages, then an end or an error; what was understood comes back when sent again.
//! The first byte says whether the rest is the stream, or a file that is sent with its checksum.
#![no_main]

use latido_model::protocol::{Message, Reader, Writer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else { return };
    match mode % 2 {
        0 => stream(rest),
        _ => file(rest),
    }
});

fn stream(bytes: &[u8]) {
    let heard = receive_all(bytes);
    let mut sent = Vec::new();
    let mut writer = Writer::new(&mut sent);
    for message in &heard {
        match message {
            Message::Line(body) => writer.send(body.clone()).expect("memory"),
            Message::Blob { name, bytes } => writer.blob(name, bytes).expect("memory"),
        }
    }
    let again = receive_all(&sent);
    assert_eq!(again.len(), heard.len());
    for pair in heard.iter().zip(&again) {
        match pair {
            (Message::Line(a), Message::Line(b)) => assert_eq!(a, b),
            (Message::Blob { name: a, bytes: x }, Message::Blob { name: b, bytes: y }) => assert_eq!((a, x), (b, y)),
            other => panic!("another kind of message: {other:?}"),
        }
    }
}

fn receive_all(bytes: &[u8]) -> Vec<Message> {
    let mut reader = Reader::new(bytes);
    let mut heard = Vec::new();
    while let Ok(Some(message)) = reader.receive() {
        heard.push(message);
    }
    heard
}

fn file(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (name, content) = bytes.split_at(end);
    let name = String::from_utf8_lossy(name);
    let mut sent = Vec::new();
    Writer::new(&mut sent).blob(&name, content).expect("memory");
    match Reader::new(&sent[..]).receive() {
        Ok(Some(Message::Blob { name: got, bytes })) => {
            assert_eq!((got.as_str(), &bytes[..]), (&*name, content));
            assert!(!name.starts_with('.') && !name.contains(['/', '\0']), "{name:?}");
        }
        Ok(other) => panic!("not a file: {other:?}"),
        Err(_) => {}
    }
}

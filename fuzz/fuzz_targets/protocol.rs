//! Any bytes as what the two ends of a session receive: an agent's messages with attachments, a host's requests, an agent's hello. An
//! understood message is the same after sending it again. The first byte chooses one of these; with the fourth choice the rest is a file
//! that is sent with its checksum.
#![no_main]

use latido_model::protocol::{Chunks, Hello, Message, Reader, Reply, Request, VERSION, Writer};
use libfuzzer_sys::fuzz_target;
use std::io::Write;

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else { return };
    match mode % 4 {
        0 => replies(rest),
        1 => requests(rest),
        2 => hello(rest),
        _ => file(rest),
    }
});

fn replies(bytes: &[u8]) {
    let heard = receive_all(bytes);
    let mut sent = Vec::new();
    let mut writer = Writer::new(&mut sent);
    for message in &heard {
        match message {
            Message::Reply(reply) => writer.send(reply).expect("memory"),
            Message::Bytes(bytes) => {
                writer.send(&Reply::Chunk { len: bytes.len() as u32 }).expect("memory");
                writer.inner().write_all(bytes).expect("memory");
            }
        }
    }
    let again = receive_all(&sent);
    assert_eq!(again.len(), heard.len());
    for pair in heard.iter().zip(&again) {
        match pair {
            (Message::Reply(a), Message::Reply(b)) => assert_eq!(a, b),
            (Message::Bytes(a), Message::Bytes(b)) => assert_eq!(a, b),
            other => panic!("another kind of message: {other:?}"),
        }
    }
}

fn receive_all(bytes: &[u8]) -> Vec<Message> {
    let mut reader = Chunks::new(bytes);
    let mut heard = Vec::new();
    while let Ok(Some(message)) = reader.receive() {
        heard.push(message);
    }
    heard
}

fn requests(bytes: &[u8]) {
    let heard = lines(bytes);
    let mut sent = Vec::new();
    let mut writer = Writer::new(&mut sent);
    for request in &heard {
        writer.send(request).expect("memory");
    }
    assert_eq!(lines(&sent), heard);
}

fn lines(bytes: &[u8]) -> Vec<Request> {
    let mut reader = Reader::<_, Request>::new(bytes);
    let mut heard = Vec::new();
    while let Ok(Some(request)) = reader.line() {
        heard.push(request);
    }
    heard
}

fn hello(bytes: &[u8]) {
    let line = String::from_utf8_lossy(bytes);
    let Some(hello) = Hello::read(&line) else { return };
    let again = Hello::read(&hello.line().expect("a hello can be written"));
    assert_eq!(again.as_ref(), Some(&hello), "{line:?}");
    let version = hello.v;
    assert_eq!(hello.accept().is_ok(), version == VERSION);
}

fn file(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (name, content) = bytes.split_at(end);
    let name = String::from_utf8_lossy(name);
    let mut sent = Vec::new();
    Writer::new(&mut sent).attach(&name, content.len() as u64, content, |_| Ok(())).expect("memory");
    let mut reader = Chunks::new(&sent[..]);
    let mut got = Vec::new();
    loop {
        match reader.receive() {
            Ok(Some(Message::Reply(Reply::Attachment { name: said, .. }))) => {
                assert_eq!(said, name);
                assert!(!name.starts_with('.') && !name.contains(['/', '\0']), "{name:?}");
            }
            Ok(Some(Message::Bytes(bytes))) => got.extend(bytes),
            Ok(Some(Message::Reply(Reply::AttachmentEnd { .. }))) => return assert_eq!(got, content),
            Ok(other) => panic!("not a file: {other:?}"),
            Err(_) => return assert!(got.is_empty(), "a file that was begun does not end"),
        }
    }
}

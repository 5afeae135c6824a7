//! Servers of tests, which answer as a test says.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

/// Listens on a port that the system chooses.
pub fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Starts a server that answers what it reads with the result of `answer`, of which each connection
/// has a copy, until that is `None`. Answers are sent in two pieces. Returns its port.
pub fn serve(answer: impl FnMut(&[u8]) -> Option<Vec<u8>> + Clone + Send + 'static) -> u16 {
    let (listener, port) = listen();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut answer) = (stream.unwrap(), answer.clone());
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || {
                let mut request = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut request)
                    && let Some(reply) = answer(&request[..length])
                {
                    let (begin, end) = reply.split_at(reply.len() / 2);
                    if stream.write_all(begin).and_then(|()| stream.write_all(end)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

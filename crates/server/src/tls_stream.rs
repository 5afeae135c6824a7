//! Stream of a client whose connection is encrypted.

use mio::net::TcpStream;
use std::io::{self, IoSlice, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tls::{Channel, Error};

/// Most bytes of ciphertext that are read from the socket at a time.
const READ_BYTES: usize = 64 << 10;
/// Most such reads in a row that bring no plaintext: others have their turn then.
const FRUITLESS_READS: usize = 4;

/// Stream of a client whose connection is encrypted: its socket, and what is known of its input.
///
/// Plaintext counts as written once its ciphertext has left, so what waits for the socket waits in
/// the output of the connection, as it does for others. The next write then begins with the same
/// bytes.
#[derive(Debug)]
pub struct TlsStream {
    socket: TcpStream,
    channel: Channel,
    /// True if the socket may hold input of which no event will tell.
    socket_may_hold_more: bool,
    /// Names of its certificate, by which it is to be logged in.
    names: Vec<Vec<u8>>,
    /// True while the socket is to take nothing, for tests.
    refuses_writes: Arc<AtomicBool>,
}

impl TlsStream {
    /// Returns the stream of an established connection, whose certificate has these names.
    pub fn new(
        (socket, channel): (TcpStream, Channel),
        names: Vec<Vec<u8>>,
        refuses_writes: Arc<AtomicBool>,
    ) -> TlsStream {
        TlsStream { socket, channel, socket_may_hold_more: true, names, refuses_writes }
    }

    /// The socket.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// The socket, to be registered.
    pub fn socket_mut(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Returns the names by which the client is to be logged in, once.
    pub fn take_names(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.names)
    }

    /// Returns true if there may be input, or its end, of which no event will tell.
    #[inline]
    pub fn may_hold_more(&self) -> bool {
        self.socket_may_hold_more || self.channel.plaintext() > 0 || self.channel.is_ending()
    }

    /// Returns the bytes that are encrypted and have not left.
    #[inline]
    pub fn sealed(&self) -> usize {
        self.channel.sealed()
    }

    /// Returns the bytes of memory that TLS takes for it, but for those.
    #[inline]
    pub fn memory(&self) -> usize {
        self.channel.memory()
    }

    /// Reads plaintext into `room`; `ciphertext` is where it is put before, whatever that holds.
    /// Returns the number of bytes, or `None` if there are none at present. `is_ending` says that
    /// the socket gets nothing more.
    ///
    /// # Errors
    /// When the connection is broken, or `UnexpectedEof` when the client has ended it.
    pub fn receive(
        &mut self,
        room: &mut [u8],
        ciphertext: &mut Vec<u8>,
        is_ending: bool,
    ) -> io::Result<Option<usize>> {
        let bytes = self.channel.read(room);
        if bytes > 0 {
            return Ok(Some(self.left_of_before(bytes)));
        }
        let most = room.len();
        self.receive_some(ciphertext, (most, is_ending), |channel, it| channel.open(it, room))
    }

    /// Does the same, but gives the plaintext to `take`.
    ///
    /// # Errors
    /// As `receive`.
    pub fn receive_with(
        &mut self,
        take: &mut dyn FnMut(&[u8]),
        ciphertext: &mut Vec<u8>,
        is_ending: bool,
    ) -> io::Result<Option<usize>> {
        let bytes = self.channel.read_with(take);
        if bytes > 0 {
            return Ok(Some(self.left_of_before(bytes)));
        }
        let how = (READ_BYTES, is_ending);
        self.receive_some(ciphertext, how, |channel, it| channel.open_with(it, take))
    }

    /// Notes that `bytes` were read that the socket did not give now. It may have got more, and the
    /// event that told of it be what this call was for.
    fn left_of_before(&mut self, bytes: usize) -> usize {
        self.socket_may_hold_more = true;
        bytes
    }

    /// Reads from the socket until `open` has moved some plaintext.
    #[inline]
    fn receive_some(
        &mut self,
        ciphertext: &mut Vec<u8>,
        (most, is_ending): (usize, bool),
        mut open: impl FnMut(&mut Channel, &[u8]) -> Result<usize, Error>,
    ) -> io::Result<Option<usize>> {
        ciphertext.resize(READ_BYTES, 0);
        let most = most.min(READ_BYTES);
        for _ in 0..FRUITLESS_READS {
            if self.channel.is_ended() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some(read) = self.read_socket(&mut ciphertext[..most])? else { return Ok(None) };
            // None tells of the end behind what was read.
            self.socket_may_hold_more = read == most || is_ending;
            let opened = open(&mut self.channel, &ciphertext[..read]);
            // Besides what was asked for, the protocol may have something to say. If the socket
            // does not take that now, it goes with what is written next.
            let sent = self.send();
            let bytes =
                opened.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            sent?;
            if bytes > 0 {
                return Ok(Some(bytes));
            }
            if !self.may_hold_more() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Reads once from the socket; `None` if there is nothing at present.
    fn read_socket(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match self.socket.read(into) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => return Ok(Some(bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.socket_may_hold_more = false;
                    return Ok(None);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn send(&mut self) -> io::Result<()> {
        match self.channel.send(&mut self.socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            outcome => outcome,
        }
    }

    /// Writes the first bytes of `from`. Returns how many they are.
    ///
    /// # Errors
    /// That of the socket; after `WouldBlock` the same bytes come first again.
    pub fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.refuses_writes.load(Relaxed) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.channel.write(from, &mut self.socket)
    }

    /// Tells the client that nothing more comes, unless something is left that has not gone.
    pub fn end(&mut self) {
        if self.channel.sealed() == 0 {
            self.channel.end(&mut self.socket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TlsStream;
    use rcgen::{CertificateParams, KeyPair};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;
    use tls::{
        Asks, BlockingStream, Choices, ClientRules, Handshake, Identity, Roots, ServerRules,
        Suites, Versions,
    };

    fn pair() -> (TlsStream, BlockingStream<TcpStream>) {
        let key = KeyPair::generate().expect("randomness");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a key that signs").pem();
        let roots = Roots::read(certificate.as_bytes()).expect("a certificate");
        let identity = Identity::of_key(roots.clone(), key.serialize_pem().as_bytes(), b"");
        let choices = Choices {
            versions: Versions::read("").expect("versions").0,
            suites: Suites::read("", "").expect("suites").0,
            prefers_own: false,
            sessions: None,
        };
        let identity = identity.expect("a key");
        let server = ServerRules::new(&identity, (Asks::Never, &roots), &choices).expect("rules");
        let client = ClientRules::new(None, &roots, &choices).expect("rules");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let connecting = thread::spawn(move || {
            let socket = TcpStream::connect(address).expect("a connection");
            BlockingStream::connect(&client, "localhost", socket).expect("an established one")
        });
        let (mut near, _) = listener.accept().expect("a client");
        let (mut handshake, mut buffer) = (Handshake::default(), vec![0; 4096]);
        while !handshake.is_done() {
            let read = near.read(&mut buffer).expect("bytes");
            handshake.receive(&buffer[..read], &server).expect("a handshake");
            handshake.write_to(&mut near).expect("the client reads");
        }
        let channel = handshake.finish().expect("it is done");
        near.set_nonblocking(true).expect("a socket that does not block");
        let near = mio::net::TcpStream::from_std(near);
        let stream = TlsStream::new((near, channel), Vec::new(), Arc::default());
        (stream, connecting.join().expect("the client"))
    }

    /// Waits until the socket has so many bytes.
    fn await_bytes(stream: &TlsStream, bytes: usize) {
        let mut seen = vec![0; bytes];
        while stream.socket().peek(&mut seen).unwrap_or(0) < bytes {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn input_that_comes_while_some_of_before_is_left_is_read_without_another_event() {
        const RECORD: usize = 10_000;
        let (mut stream, mut client) = pair();
        let (mut room, mut ciphertext) = (vec![0; 16 << 10], Vec::new());
        (0..3).for_each(|_| client.write_all(&[7; RECORD]).expect("the server has room"));
        await_bytes(&stream, 3 * RECORD);
        let mut receive = |stream: &mut TlsStream| {
            stream.receive(&mut room, &mut ciphertext, false).expect("data").unwrap_or(0)
        };
        let mut got = receive(&mut stream);
        // Of what is read now, more comes than there is room for.
        got += receive(&mut stream);
        assert!(got < 3 * RECORD && stream.may_hold_more());
        client.write_all(b"more").expect("the server has room");
        await_bytes(&stream, 4);
        while stream.may_hold_more() {
            got += receive(&mut stream);
        }
        assert_eq!(got, 3 * RECORD + 4);
    }
}

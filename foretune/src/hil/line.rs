//! The way to the device: a serial port or a local socket that may vanish and come back.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::str::FromStr;
use std::time::{Duration, Instant};

use host_sim::error::Error;

/// Speed of the serial line, as the boards set it.
const BAUD_RATE: u32 = 115_200;
/// How long a read waits for a byte.
const READ_TIMEOUT: Duration = Duration::from_millis(4);
/// How long to wait before trying a lost connection again.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Serial(String),
    /// A TCP port, `host:port`.
    Tcp(String),
    Unix(String),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("tcp", address)) if address.contains(':') => Ok(Self::Tcp(address.into())),
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.into())),
            _ => Err("expected tcp:HOST:PORT or unix:PATH".into()),
        }
    }
}

trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

/// A line to a device. What cannot be sent is lost, as on a real line; a lost connection is sought again.
pub struct Line {
    address: Address,
    stream: Option<Box<dyn Stream>>,
    tried: Option<Instant>,
    error: Option<io::Error>,
}

impl Line {
    /// The line to an address. The socket of an emulated board may come later; a serial port must be there.
    pub fn open(address: Address) -> Result<Self, Error> {
        let mut line = Line { address, stream: None, tried: None, error: None };
        match (line.stream().is_some(), &line.address) {
            (false, Address::Serial(_)) => Err(Error::Device(line.state())),
            _ => Ok(line),
        }
    }

    /// Bytes that have come; none after a few milliseconds of silence.
    pub fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> &'b [u8] {
        let Some(stream) = self.stream() else {
            std::thread::sleep(READ_TIMEOUT);
            return &[];
        };
        match stream.read(buffer) {
            Ok(count) if count > 0 => &buffer[..count],
            Err(error) if is_silence(&error) => &[],
            _ => {
                self.stream = None;
                &[]
            }
        }
    }

    pub fn send(&mut self, frame: &[u8]) {
        let sent = self.stream().map(|stream| stream.write_all(frame).and_then(|()| stream.flush()));
        if let Some(Err(_)) = sent {
            self.stream = None;
        }
    }

    fn stream(&mut self) -> Option<&mut Box<dyn Stream>> {
        if self.stream.is_none() && self.tried.is_none_or(|tried| tried.elapsed() >= PAUSE) {
            self.tried = Some(Instant::now());
            match open(&self.address) {
                Ok(stream) => (self.stream, self.error) = (Some(stream), None),
                Err(error) => self.error = Some(error),
            }
        }
        self.stream.as_mut()
    }

    /// Why nothing comes, as far as that is known: the line could not be opened, or nobody answers on it.
    pub fn state(&self) -> String {
        let (Address::Serial(at) | Address::Tcp(at) | Address::Unix(at)) = &self.address;
        match &self.error {
            None => format!("nothing comes from {at}: is the device on, and is this its port?"),
            Some(error) => format!("cannot open {at}: {error}"),
        }
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

fn open(address: &Address) -> io::Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Serial(port) => Box::new(serialport::new(port, BAUD_RATE).timeout(READ_TIMEOUT).open()?),
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(READ_TIMEOUT))?;
            Box::new(stream)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(READ_TIMEOUT))?;
            Box::new(stream)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_nonsense_is_refused() {
        assert_eq!("tcp:127.0.0.1:99".parse(), Ok(Address::Tcp("127.0.0.1:99".into())));
        assert_eq!("unix:/tmp/x".parse(), Ok(Address::Unix("/tmp/x".into())));
        for nonsense in ["", "tcp:", "tcp:99", "unix:", "/dev/ttyACM0"] {
            assert!(nonsense.parse::<Address>().is_err(), "{nonsense}");
        }
    }

    #[test]
    fn a_serial_port_that_is_not_there_is_an_error_at_once() {
        let error = Line::open(Address::Serial("/dev/no-such-port".into())).err().unwrap().to_string();
        assert!(error.contains("cannot open /dev/no-such-port"), "{error}");
    }

    #[test]
    fn a_socket_that_vanishes_and_comes_back_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("line");
        let mut line = Line::open(Address::Unix(path.display().to_string())).unwrap();
        line.send(b"lost");
        assert!(line.state().contains("cannot open"), "{}", line.state());
        for message in [b"one", b"two"] {
            std::fs::remove_file(&path).ok();
            let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
            let device = std::thread::spawn(move || listener.accept().unwrap().0.write_all(message).unwrap());
            let mut heard = Vec::new();
            let mut buffer = [0; 8];
            while heard.len() < 3 {
                heard.extend_from_slice(line.receive(&mut buffer));
            }
            assert_eq!(heard, message);
            assert!(line.state().contains("is the device on"), "{}", line.state());
            device.join().unwrap();
        }
    }
}

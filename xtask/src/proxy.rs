//! A line between station and device that can be bad: bytes dropped, flipped, inserted, doubled, held back.
//!
//! The station connects to the proxy and stays there; the device may be restarted on another port meanwhile.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A line. Dropping it cuts it.
pub struct Proxy {
    /// Where the station connects.
    pub port: u16,
    target: Arc<AtomicU16>,
    closed: Arc<AtomicBool>,
    recorded: Recording,
}

/// What came from the station.
type Recording = Arc<Mutex<Vec<u8>>>;

impl Proxy {
    /// A line on which one byte in `one_in` suffers (0: none), the same way for the same seed and traffic.
    pub fn open(one_in: u32, seed: u64) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let (target, closed) = (Arc::new(AtomicU16::new(0)), Arc::new(AtomicBool::new(false)));
        let (to, end) = (Arc::clone(&target), Arc::clone(&closed));
        let recorded = Recording::default();
        let recording = Arc::clone(&recorded);
        thread::spawn(move || {
            let mut connections = 0;
            for station in listener.incoming().map_while(Result::ok) {
                if end.load(Ordering::Relaxed) {
                    break;
                }
                connections += 1;
                match TcpStream::connect(("127.0.0.1", to.load(Ordering::Relaxed))) {
                    Ok(device) => join(&station, &device, one_in, seed + 2 * connections, &recording),
                    // The device is off: so is the line.
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            }
        });
        Ok(Proxy { port, target, closed, recorded })
    }

    /// Leads the line to the device on this port.
    pub fn lead_to(&self, port: u16) {
        self.target.store(port, Ordering::Relaxed);
    }

    /// All that came from the station so far.
    pub fn recorded(&self) -> Vec<u8> {
        self.recorded.lock().map(|bytes| bytes.clone()).unwrap_or_default()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        TcpStream::connect(("127.0.0.1", self.port)).ok();
    }
}

/// Carries bytes both ways until either end closes.
fn join(station: &TcpStream, device: &TcpStream, one_in: u32, seed: u64, recording: &Recording) {
    station.set_nodelay(true).ok();
    device.set_nodelay(true).ok();
    thread::scope(|scope| {
        scope.spawn(|| carry(station, device, &mut Noise::new(one_in, seed), Some(recording)));
        scope.spawn(|| carry(device, station, &mut Noise::new(one_in, seed + 1), None));
    });
}

fn carry(mut from: &TcpStream, mut to: &TcpStream, noise: &mut Noise, recording: Option<&Recording>) {
    let mut buffer = [0; 512];
    while let Ok(count) = from.read(&mut buffer) {
        if let Some(Ok(mut recorded)) = recording.map(|recording| recording.lock()) {
            recorded.extend(&buffer[..count]);
        }
        if count == 0 || to.write_all(&noise.spoil(&buffer[..count])).is_err() {
            break;
        }
    }
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}

/// Random numbers that need be neither good nor fast: Marsaglia's xorshift.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32 % bound.max(1)
    }
}

struct Noise {
    one_in: u32,
    random: Random,
}

impl Noise {
    fn new(one_in: u32, seed: u64) -> Self {
        Noise { one_in, random: Random::new(seed) }
    }

    fn spoil(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut spoilt = Vec::with_capacity(bytes.len() + 8);
        for &byte in bytes {
            if self.one_in == 0 || self.random.below(self.one_in) > 0 {
                spoilt.push(byte);
                continue;
            }
            match self.random.below(5) {
                0 => {}
                1 => spoilt.push(byte ^ (1 << self.random.below(8))),
                2 => spoilt.extend([self.random.below(256) as u8, byte]),
                3 => spoilt.extend([byte, byte]),
                _ => {
                    thread::sleep(Duration::from_millis(self.random.below(80).into()));
                    spoilt.push(byte);
                }
            }
        }
        spoilt
    }
}

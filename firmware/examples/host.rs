//! The tuner on this machine: the compact profile with a flash in memory and its serial line on a TCP port.
//!
//! ```sh
//! cargo run --package foretune-firmware --features sim --example host -- 7700
//! python3 examples/station.py --connect tcp:127.0.0.1:7700
//! ```
//!
//! For whoever writes a station: what it says here, it can say to a board. It ends when the station hangs up.

use std::convert::Infallible;
use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use embedded_io::{ErrorType, Read, ReadReady, Write};
use foretune_firmware::app::App;
use foretune_firmware::board::{Board, Fault, Parts, Stack, Status, System};
use foretune_firmware::profile::{COMPACT, Compact};
use foretune_firmware::storage::sim::SimFlash;

/// Words of 16 bytes in sectors of 8 KB, as the STM32H7A3 has them.
type Flash = SimFlash<16, 8192>;

fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("say on which port to listen")?.parse()?;
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    println!("listening on {}", listener.local_addr()?);
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let mut memory = Box::new(Compact::new());
    let mut app = App::new(parts(stream)?, COMPACT)?;
    app.run(memory.lend(), |system: &mut Machine| !system.is_alone());
    Ok(())
}

/// This machine as a board.
enum Host {}

impl Board for Host {
    const NAME: &'static str = "host";
    type Serial = Line;
    type Flash = Flash;
    type System = Machine;
}

fn parts(stream: TcpStream) -> io::Result<Parts<Host>> {
    let flash = Flash::new(COMPACT.layout.in_sectors_of::<Flash>().end() as usize);
    let serial = Line(stream.try_clone()?);
    Ok(Parts { serial, flash, system: Machine { stream, start: Instant::now() } })
}

/// The line: what a station that hung up does not hear is lost, as on any line.
struct Line(TcpStream);

impl ErrorType for Line {
    type Error = Infallible;
}

impl ReadReady for Line {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(matches!(self.0.peek(&mut [0]), Ok(1)))
    }
}

impl Read for Line {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        Ok(self.0.read(bytes).unwrap_or(0))
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

struct Machine {
    stream: TcpStream,
    start: Instant,
}

impl Machine {
    /// Whether the station has hung up.
    fn is_alone(&self) -> bool {
        match self.stream.peek(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

impl System for Machine {
    fn show(&mut self, _: Status) {}

    fn feed(&mut self) {}

    fn ticks(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    fn ticks_per_second(&self) -> u32 {
        1_000_000
    }

    fn idle(&mut self) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }

    fn stack(&self) -> Stack {
        Stack { size: 0, used: 0 }
    }

    fn last_fault(&self) -> Option<Fault> {
        None
    }
}

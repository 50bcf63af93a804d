//! The data flash of the MPS2 boards: memory that is written through to a file on the host.
//!
//! The file `flash.bin` in the emulator's folder holds the data and then one mark per word, as [`EccFlash`] keeps them.
//! Each piece of a change is one write to the file, so killing the emulator at any instant is a power failure. An
//! argument `cut=N` makes it exact: power fails at the N-th piece from the start, when half of it is written.

use core::mem::MaybeUninit;

use semihosting::fs::{File, OpenOptions};
use semihosting::io::{Read, Result, Seek, SeekFrom, Write};
use semihosting::sys::arm_compat::sys_get_cmdline_uninit;

use crate::ecc_flash::{EccFlash, Medium, mark};

/// The board's flash.
pub type Flash = EccFlash<'static, HostFile>;

/// The emulator's exit code when `cut=N` struck.
const CUT_EXIT_CODE: i32 = 75;

/// The file, and how many pieces it still accepts before power fails.
pub struct HostFile {
    file: File,
    pieces_until_cut: Option<u32>,
}

impl Medium for HostFile {
    fn keep(&mut self, offset: usize, bytes: &[u8]) {
        match &mut self.pieces_until_cut {
            Some(0) => self.lose_power(offset, &bytes[..bytes.len() / 2]),
            Some(left) => *left -= 1,
            None => {}
        }
        self.store(offset, bytes);
    }
}

impl HostFile {
    fn store(&mut self, offset: usize, bytes: &[u8]) {
        done(self.file.seek(SeekFrom::Start(offset as u64)));
        done(self.file.write_all(bytes));
    }

    fn lose_power(&mut self, offset: usize, bytes: &[u8]) -> ! {
        self.store(offset, bytes);
        semihosting::process::exit(CUT_EXIT_CODE)
    }
}

/// A host that does not keep the file is no flash at all: better to stop than to pretend. (Not `expect`: naming the
/// error would cost the program some kilobytes.)
fn done<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(_) => panic!("the host does not let us use flash.bin"),
    }
}

unsafe extern "C" {
    static mut _storage_start: u8;
    static mut _storage_end: u8;
    static mut _marks_start: u8;
    static mut _marks_end: u8;
}

/// Opens the file, or creates an erased one, and loads it.
pub(super) fn open() -> Flash {
    // SAFETY: the layout sets these two regions aside; `take` calls this once, so each has one owner.
    let (data, marks) = unsafe {
        (
            region(&raw mut _storage_start, &raw const _storage_end),
            region(&raw mut _marks_start, &raw const _marks_end),
        )
    };
    let mut file = HostFile { file: open_file(), pieces_until_cut: cut() };
    let size = done(file.file.metadata()).len();
    if size == (data.len() + marks.len()) as u64 {
        done(file.file.read_exact(data));
        done(file.file.read_exact(marks));
    } else {
        data.fill(0xFF);
        marks.fill(mark::ERASED);
        file.store(0, data);
        file.store(data.len(), marks);
    }
    EccFlash::new(data, marks, file)
}

/// # Safety
/// The region is memory and nobody else's.
unsafe fn region(start: *mut u8, end: *const u8) -> &'static mut [u8] {
    // SAFETY: the caller's promise; any bit pattern is a valid byte.
    unsafe { core::slice::from_raw_parts_mut(start, end as usize - start as usize) }
}

fn open_file() -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    done(options.open(c"flash.bin").or_else(|_| options.create(true).truncate(true).open(c"flash.bin")))
}

/// The number after `cut=` in the emulator's arguments.
fn cut() -> Option<u32> {
    let mut buffer = [MaybeUninit::uninit(); 256];
    let line = sys_get_cmdline_uninit(&mut buffer).ok()?;
    let word = line.split(|byte| !byte.is_ascii_graphic()).find_map(|word| word.strip_prefix(b"cut="))?;
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
    word.iter().map(digit).try_fold(0, |number: u32, digit| number.checked_mul(10)?.checked_add(digit?))
}

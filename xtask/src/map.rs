//! What the linker made: sections, what is loaded where, symbols. And a program's memory map, checked against the chip:
//! everything where memory of its kind is, nothing on top of another.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use object::elf::{PT_LOAD, SHF_ALLOC};
use object::read::elf::{ElfFile32, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionFlags};

use crate::board::{BOARDS, Board, Kind, Variant, find};
use crate::error::{Error, Verdict, ensure, fail};
use crate::tools::Tools;

/// A linked program.
#[derive(Debug, Default)]
pub struct Elf {
    /// Sections that take room on the board, in order of address, without the empty ones.
    pub sections: Vec<Section>,
    /// What is written into flash: addresses there, in order.
    pub loads: Vec<Range<u64>>,
    /// Addresses by name.
    pub symbols: HashMap<String, u64>,
}

/// A section that takes room on the board.
#[derive(Debug, Clone)]
pub struct Section {
    /// Its name, such as `.text`.
    pub name: String,
    /// Where it is when the program runs.
    pub span: Range<u64>,
    /// Its content, empty for sections that start as zeros or as nothing.
    pub content: Vec<u8>,
}

impl Elf {
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path)?;
        Self::parse(&bytes).map_err(|error| Error::failed(format!("{}: {error}", path.display())))
    }

    fn parse(bytes: &[u8]) -> object::Result<Self> {
        let file = ElfFile32::<Endianness>::parse(bytes)?;
        let is_allocated =
            |flags| matches!(flags, SectionFlags::Elf { sh_flags } if sh_flags & u64::from(SHF_ALLOC) != 0);
        let mut sections = Vec::new();
        for section in file.sections().filter(|section| is_allocated(section.flags()) && section.size() > 0) {
            let span = section.address()..section.address() + section.size();
            sections.push(Section {
                name: section.name()?.to_owned(),
                span,
                content: section.data()?.to_vec(),
            });
        }
        sections.sort_by_key(|section| section.span.start);
        let endian = file.endian();
        let headers = file.elf_program_headers().iter().filter(|header| header.p_type(endian) == PT_LOAD);
        let spans = headers.map(|header| {
            let start = u64::from(header.p_paddr(endian));
            start..start + u64::from(header.p_filesz(endian))
        });
        let mut loads: Vec<_> = spans.filter(|span| !span.is_empty()).collect();
        loads.sort_by_key(|load| load.start);
        let symbols =
            file.symbols().filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())));
        Ok(Elf { sections, loads, symbols: symbols.collect() })
    }

    /// Bytes that are written into flash.
    pub fn flash(&self) -> u64 {
        self.loads.iter().map(|load| load.end - load.start).sum()
    }

    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The address of a symbol that the layout defines.
    pub fn symbol(&self, name: &str) -> Result<u64, Error> {
        let found = self.symbols.get(name).copied();
        found.ok_or_else(|| Error::failed(format!("the layout defines no `{name}`")))
    }

    pub fn between(&self, start: &str, end: &str) -> Result<Range<u64>, Error> {
        Ok(self.symbol(start)?..self.symbol(end)?)
    }
}

/// A number of four bytes.
pub fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// Vectors of the processor itself, before those of the chip.
const PROCESSOR_VECTORS: usize = 16;

/// `cargo xtask map <board> <program>`: builds, checks and prints.
pub fn map(board: &str, program: &str) -> Result<(), Error> {
    let board = find(board)?;
    let elf = Elf::read(&board.build(&Tools::default(), program)?)?;
    print(&elf);
    check(board, &elf)?;
    println!("fits {}", board.name);
    Ok(())
}

/// The step: every program of every board.
pub fn check_all(tools: &Tools) -> Verdict {
    let mut maps = 0;
    for board in BOARDS {
        let elves = board.build_all(tools, board.programs, &Variant::from_environment())?;
        for (elf, program) in elves.iter().zip(board.programs) {
            let named = |error: Error| Error::failed(format!("{program} on {}: {}", board.name, error.why()));
            check(board, &Elf::read(elf)?).map_err(named)?;
            maps += 1;
        }
    }
    Ok(format!("{maps} memory maps on {} boards", BOARDS.len()))
}

fn print(elf: &Elf) {
    for section in &elf.sections {
        let size = section.span.end - section.span.start;
        println!("{:<14} {:#010x} .. {:#010x} {size:>9}", section.name, section.span.start, section.span.end);
    }
    for (name, start, end) in
        [("stack", "_stack_end", "_stack_start"), ("storage", "_storage_start", "_storage_end")]
    {
        if let Ok(span) = elf.between(start, end) {
            println!("{name:<14} {:#010x} .. {:#010x} {:>9}", span.start, span.end, span.end - span.start);
        }
    }
}

/// Everything that must hold of a program on a board.
pub fn check(board: &Board, elf: &Elf) -> Result<(), Error> {
    let stack = elf.between("_stack_end", "_stack_start")?;
    let storage = elf.between("_storage_start", "_storage_end")?;
    let last_words = elf.symbol("_last_words")?;
    let last_words = last_words..last_words + 16;

    for load in &elf.loads {
        inside(board, Kind::Code, "what is loaded", load)?;
    }
    for section in &elf.sections {
        let kind = if is_ram(&section.name)? { Kind::Ram } else { Kind::Code };
        inside(board, kind, &section.name, &section.span)?;
    }
    inside(board, Kind::Ram, "the stack", &stack)?;
    inside(board, Kind::Storage, "the storage", &storage)?;
    let sector = board.flash.sector as u64;
    let whole = storage.start % sector == 0 && storage.end % sector == 0 && !storage.is_empty();
    ensure!(whole, "the storage {} is not whole sectors", show(&storage));
    let mut spans: Vec<_> =
        elf.sections.iter().map(|section| (section.name.as_str(), &section.span)).collect();
    spans.extend([("the stack", &stack), ("the storage", &storage), ("the last words", &last_words)]);
    apart(&spans)?;
    vectors(board, elf, &stack)
}

/// Which sections are variables; any section that we do not know is worth a look by somebody.
fn is_ram(section: &str) -> Result<bool, Error> {
    match section {
        ".vector_table" | ".start_block" | ".text" | ".rodata" | ".gnu.sgstubs" => Ok(false),
        ".data" | ".bss" | ".uninit" => Ok(true),
        other => fail!("no rule says where section {other} belongs"),
    }
}

/// `span` must lie in one piece of the chip's memory of that kind.
fn inside(board: &Board, kind: Kind, what: &str, span: &Range<u64>) -> Result<(), Error> {
    let holds = |memory: &crate::board::Memory| {
        memory.kind == kind && memory.span.start <= span.start && span.end <= memory.span.end
    };
    let held = board.memory.iter().any(holds);
    ensure!(held, "{what} at {} is not inside any {kind:?} memory", show(span));
    Ok(())
}

/// No two may overlap.
fn apart(spans: &[(&str, &Range<u64>)]) -> Result<(), Error> {
    for (index, (one, a)) in spans.iter().enumerate() {
        for (other, b) in &spans[index + 1..] {
            let apart = a.end <= b.start || b.end <= a.start;
            ensure!(apart, "{one} at {} overlaps {other} at {}", show(a), show(b));
        }
    }
    Ok(())
}

/// The vector table opens the flash, begins with the stack and the reset handler, and has an entry per interrupt.
fn vectors(board: &Board, elf: &Elf, stack: &Range<u64>) -> Result<(), Error> {
    let table = elf.section(".vector_table").ok_or_else(|| Error::failed("there is no vector table"))?;
    let text = elf.section(".text").ok_or_else(|| Error::failed("there is no code"))?;
    let code = board.memory.iter().find(|memory| memory.kind == Kind::Code);
    let start = code.expect("every chip has code memory").span.start;
    let entries: Vec<u64> = table.content.chunks_exact(4).map(|bytes| word(bytes).into()).collect();
    let wanted = PROCESSOR_VECTORS + board.interrupts;
    ensure!(
        table.span.start == start,
        "the vector table is at {}, not where the chip starts",
        show(&table.span)
    );
    ensure!(entries.len() >= wanted, "{} vectors, but the chip has {wanted}", entries.len());
    let top = entries[0] == stack.end && entries[0].is_multiple_of(8);
    ensure!(top, "the first vector {:#010x} is not the stack's top", entries[0]);
    for entry in entries[1..].iter().filter(|&&entry| entry != 0) {
        // The lowest bit says Thumb, the only instruction set there is.
        let good = entry % 2 == 1 && text.span.contains(&(entry - 1));
        ensure!(good, "the vector {entry:#010x} does not point to code");
    }
    Ok(())
}

fn show(span: &Range<u64>) -> String {
    format!("{:#010x}..{:#010x}", span.start, span.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> &'static Board {
        find("nucleo-h7a3zi").unwrap()
    }

    /// A program that fits.
    fn elf() -> Elf {
        let words = 16 + 155;
        let mut table: Vec<u32> = vec![0x0800_0301; words];
        table[0] = 0x2001_FFC0;
        let content = table.iter().flat_map(|word| word.to_le_bytes()).collect();
        let section = |name: &str, start: u64, size: u64, content| Section {
            name: name.into(),
            span: start..start + size,
            content,
        };
        let symbols = [
            ("_stack_end", 0x2000_0000),
            ("_stack_start", 0x2001_FFC0),
            ("_last_words", 0x2001_FFC0),
            ("_storage_start", 0x0810_0000),
            ("_storage_end", 0x0820_0000),
        ];
        Elf {
            sections: vec![
                section(".vector_table", 0x0800_0000, 4 * words as u64, content),
                section(".text", 0x0800_0300, 0x1000, Vec::new()),
                section(".bss", 0x2400_0000, 0x8000, Vec::new()),
            ],
            loads: vec![0x0800_0000..0x0800_1000, 0x0800_1000..0x0800_1300],
            symbols: symbols.map(|(name, value)| (name.to_owned(), value)).into(),
        }
    }

    type Change = fn(&mut Elf);

    fn set(elf: &mut Elf, symbol: &str, value: u64) {
        elf.symbols.insert(symbol.into(), value);
    }

    #[test]
    fn a_program_that_fits_is_accepted_and_every_other_refused_by_name() {
        check(board(), &elf()).unwrap();
        let broken: [(Change, &str); 10] = [
            (|elf| elf.sections[2].span.end += 1 << 20, ".bss"),
            (|elf| elf.loads[1].end = 0x0810_0010, "what is loaded"),
            (|elf| elf.sections[1].span.end = 0x0810_0010, ".text"),
            (|elf| set(elf, "_storage_start", 0x080F_0000), "the storage"),
            (|elf| set(elf, "_storage_start", 0x0810_0010), "whole sectors"),
            (
                |elf| {
                    set(elf, "_stack_end", 0x2400_0000);
                    set(elf, "_stack_start", 0x2400_1000);
                },
                "overlaps",
            ),
            (|elf| elf.sections[0].content[4] = 0, "does not point to code"),
            (|elf| elf.sections[0].content[0] = 8, "stack's top"),
            (|elf| elf.sections[0].content.truncate(64), "the chip has 171"),
            (|elf| elf.sections[2].name = ".mystery".into(), ".mystery"),
        ];
        for (change, words) in broken {
            let mut elf = elf();
            change(&mut elf);
            let why = check(board(), &elf).unwrap_err().why().to_owned();
            assert!(why.contains(words), "{why}");
        }
    }
}

//! What the linker made: sections, what is loaded where, symbols.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use object::elf::{PT_LOAD, SHF_ALLOC};
use object::read::elf::{ElfFile32, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionFlags};

use crate::error::Error;

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

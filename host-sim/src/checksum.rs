//! CRC-32 of what is kept and compared: the core's, so that host and device agree on it.

pub use foretune_core::snapshot::Crc;

/// The checksum of all bytes at once.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-32/ISO-HDLC, as in catalogues.
    #[test]
    fn it_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}

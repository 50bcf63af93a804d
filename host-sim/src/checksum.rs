//! CRC-32 of what is kept and compared: the core's, so that host and device agree on it.

pub use foretune_core::snapshot::Crc;
pub use foretune_link::crc32;

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-32/ISO-HDLC, as in catalogues.
    #[test]
    fn it_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}

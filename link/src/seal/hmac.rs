//! HMAC-SHA-256 (RFC 2104) over the compression function of `sha2`.
//!
//! Padding and the two passes are written here: the general ones take 0.9 KB more of a device's flash. The tests compare them with
//! the `hmac` crate.

use core::hint::black_box;

use super::Key;

/// Bytes that are compressed together.
const BLOCK: usize = 64;
/// First 32 bits of the fractional parts of the square roots of the first eight primes (FIPS 180-4).
const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// A digest under way.
struct Sha256 {
    state: [u32; 8],
    block: [u8; BLOCK],
    length: usize,
}

impl Sha256 {
    /// Of a block with the key, each byte of it changed by `pad`: HMAC fills up a key of less than a block with zeros.
    fn keyed(key: &Key, pad: u8) -> Self {
        let mut sha = Sha256 { state: START, block: [0; BLOCK], length: 0 };
        for i in 0..BLOCK {
            sha.push(key.get(i).copied().unwrap_or(0) ^ pad);
        }
        sha
    }

    fn push(&mut self, byte: u8) {
        self.block[self.length % BLOCK] = byte;
        self.length += 1;
        if self.length.is_multiple_of(BLOCK) {
            sha2::compress256(&mut self.state, &[self.block.into()]);
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.push(*byte));
    }

    /// Fills up the last block: a one, zeros, and the length in bits.
    fn finish(mut self) -> [u8; 32] {
        let bits = 8 * self.length as u64;
        self.push(0x80);
        while self.length % BLOCK != BLOCK - 8 {
            self.push(0);
        }
        self.update(&bits.to_be_bytes());
        let mut digest = [0; 32];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        digest
    }
}

/// The code of some bytes, given in parts, under a key.
pub fn hmac(key: &Key, parts: &[&[u8]]) -> [u8; 32] {
    let mut inner = Sha256::keyed(key, 0x36);
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = Sha256::keyed(key, 0x5c);
    outer.update(&inner.finish());
    outer.finish()
}

/// Whether two codes are the same, in a time that does not tell how much of them is.
pub fn is_same<const N: usize>(one: &[u8; N], other: &[u8; N]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::hmac::{Hmac, Mac};
    use std::vec::Vec;

    #[test]
    fn is_the_one_of_the_standard() {
        // RFC 4231, test case 2, its key filled up with zeros as HMAC does.
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let mac = hmac(&key, &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(mac[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
    }

    #[test]
    fn agrees_with_the_common_crate_at_every_length() {
        let bytes: Vec<u8> = (0..400u32).map(|i| (i * i / 7) as u8).collect();
        for length in 0..bytes.len() {
            let key = core::array::from_fn(|i| (i * 37 + length) as u8);
            let mut theirs = <Hmac<sha2::Sha256> as Mac>::new_from_slice(&key).unwrap();
            theirs.update(&bytes[..length]);
            let (head, tail) = bytes[..length].split_at(length / 3);
            assert_eq!(hmac(&key, &[head, tail])[..], theirs.finalize().into_bytes()[..], "{length} bytes");
        }
    }

    #[test]
    fn codes_are_the_same_or_not() {
        let code: [u8; 16] = core::array::from_fn(|i| i as u8);
        assert!(is_same(&code, &code));
        for bit in 0..128 {
            let mut other = code;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_same(&code, &other), "bit {bit}");
        }
    }
}

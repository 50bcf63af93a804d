//! Every message survives the line; nothing that is no message gets through or does harm.

use core::fmt::Debug;

use foretune_link::frame::Directed;
use foretune_link::{Decoder, MAX_FRAME, Request, Response, encode, parse};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// Messages with any of these numbers, as bytes say them: small numbers and short lists more often than not.
fn message<M: Debug + Deserialize<'static>>(numbers: core::ops::Range<u8>) -> impl Strategy<Value = M> {
    let byte = prop_oneof![4 => 0u8..3, 1 => 0x20u8..0x7f, 1 => any::<u8>()];
    (numbers, vec(byte, 0..320)).prop_filter_map("a message", |(number, mut bytes)| {
        bytes.insert(0, number);
        postcard::take_from_bytes(bytes.leak()).ok().map(|(message, _)| message)
    })
}

/// The frame of a message, unless it is longer than any that is sent.
fn frame<M: Directed + Serialize>(tag: u32, message: &M) -> Option<Vec<u8>> {
    encode(tag, message, &mut [0; MAX_FRAME]).ok().map(<[u8]>::to_vec)
}

/// The body that a decoder finds in a frame.
fn body(frame: &[u8]) -> Vec<u8> {
    let mut decoder: Decoder = Decoder::new();
    let mut bodies: Vec<Vec<u8>> = Vec::new();
    frame.iter().for_each(|byte| bodies.extend(decoder.push(*byte).map(<[u8]>::to_vec)));
    assert_eq!(bodies.len(), 1);
    bodies.remove(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_request_survives(tag: u32, request in message::<Request>(0..14)) {
        let Some(sent) = frame(tag, &request) else { return Ok(()) };
        let body = body(&sent);
        let (heard, again) = parse::<Request>(&body).unwrap();
        prop_assert_eq!((heard, frame(tag, &again)), (tag, Some(sent)));
        prop_assert!(parse::<Response>(&body).is_err());
    }

    #[test]
    fn every_response_survives(tag: u32, response in message::<Response>(0..17)) {
        let Some(sent) = frame(tag, &response) else { return Ok(()) };
        let body = body(&sent);
        let (heard, again) = parse::<Response>(&body).unwrap();
        prop_assert_eq!((heard, frame(tag, &again)), (tag, Some(sent)));
        prop_assert!(parse::<Request>(&body).is_err());
    }

    #[test]
    fn a_frame_has_no_zero_inside(tag: u32, request in message::<Request>(0..14)) {
        let Some(frame) = frame(tag, &request) else { return Ok(()) };
        let zeros = frame.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at);
        prop_assert_eq!(zeros.collect::<Vec<_>>(), [0, frame.len() - 1]);
    }

    #[test]
    fn any_bytes_are_endured_and_the_next_frame_is_heard(noise in vec(any::<u8>(), 0..2000)) {
        let mut decoder: Decoder = Decoder::new();
        let frame = frame(1, &Request::Status).unwrap();
        for byte in noise {
            let _ = decoder.receive::<Request>(byte);
        }
        let heard = frame.iter().filter_map(|byte| decoder.receive::<Request>(*byte).map(|(tag, _)| tag));
        prop_assert_eq!(heard.collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn any_body_is_a_message_or_an_error(bytes in vec(any::<u8>(), 0..300)) {
        let _ = parse::<Request>(&[b">", &bytes[..]].concat());
        let _ = parse::<Response>(&[b"<", &bytes[..]].concat());
    }
}

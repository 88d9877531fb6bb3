//! Frames of the manual, and streams of every kind of noise.

use proptest::prelude::*;

use super::*;
use crate::arm::unrecorded;

fn bytes(hex: &str) -> Vec<u8> {
    hex.split_whitespace()
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

fn parse(direction: Direction, stream: &[u8]) -> Vec<Packet> {
    let mut parser = Parser::new(direction);
    parser.push(stream);
    parser.finish()
}

fn status(id: u8, code: u8, params: &[u8]) -> Packet {
    Packet {
        id,
        code,
        params: params.to_vec(),
    }
}

#[test]
fn request_frames_match_the_manual() {
    use Instruction::{Action, Ping, Read, RegWrite, SyncRead, SyncWrite, Write};
    let goal = [0x2A, 0x00, 0x08, 0, 0, 0xE8, 0x03];
    let four = bytes(
        "2A 06 01 00 08 00 00 E8 03 02 00 08 00 00 E8 03 03 00 08 00 00 E8 03 04 00 08 00 00 E8 03",
    );
    let six = bytes("2A 02 01 00 08 02 00 08 03 00 08 04 00 08 05 00 08 06 00 08");
    let cases: [(u8, Instruction, &[u8], &str); 15] = [
        (1, Ping, &[], "FF FF 01 02 01 FB"),
        (1, Read, &[0x38, 2], "FF FF 01 04 02 38 02 BE"),
        (1, Read, &[0x38, 15], "FF FF 01 04 02 38 0F B1"),
        (1, Write, &goal, "FF FF 01 09 03 2A 00 08 00 00 E8 03 D5"),
        (1, RegWrite, &goal, "FF FF 01 09 04 2A 00 08 00 00 E8 03 D4"),
        (BROADCAST, Action, &[], "FF FF FE 02 05 FA"),
        (
            BROADCAST,
            SyncWrite,
            &four,
            "FF FF FE 20 83 2A 06 01 00 08 00 00 E8 03 02 00 08 00 00 E8 03 03 00 08 00 00 E8 03 04 00 08 00 00 E8 03 58",
        ),
        (
            BROADCAST,
            SyncRead,
            &[0x38, 8, 1, 2],
            "FF FF FE 06 82 38 08 01 02 36",
        ),
        (1, Write, &[0x28, 1], "FF FF 01 04 03 28 01 CE"),
        (BROADCAST, Write, &[0x28, 0], "FF FF FE 04 03 28 00 D2"),
        (BROADCAST, Write, &[0x37, 0], "FF FF FE 04 03 37 00 C3"),
        (1, Write, &[5, 2], "FF FF 01 04 03 05 02 F0"),
        (1, Write, &[0x2A, 0, 8], "FF FF 01 05 03 2A 00 08 C4"),
        (
            BROADCAST,
            SyncRead,
            &[0x38, 15, 1, 2, 3, 4, 5, 6],
            "FF FF FE 0A 82 38 0F 01 02 03 04 05 06 19",
        ),
        (
            BROADCAST,
            SyncWrite,
            &six,
            "FF FF FE 16 83 2A 02 01 00 08 02 00 08 03 00 08 04 00 08 05 00 08 06 00 08 F7",
        ),
    ];
    for (id, instruction, params, expected) in cases {
        let frame = instruction_frame(id, instruction, params);
        assert_eq!(frame, bytes(expected), "{instruction:?}");
        let parsed = parse(Direction::Request, &frame);
        assert_eq!(parsed, [status(id, instruction as u8, params)]);
        assert_eq!(Instruction::from_code(instruction as u8), Some(instruction));
    }
}

#[test]
fn status_frames_match_the_manual() {
    let cases: [(&str, Packet); 6] = [
        ("FF FF 01 02 00 FC", status(1, 0, &[])),
        ("FF FF 01 04 00 18 05 DD", status(1, 0, &[0x18, 5])),
        (
            "FF FF 01 0A 00 00 08 00 00 00 00 79 1E 55",
            status(1, 0, &[0, 8, 0, 0, 0, 0, 0x79, 0x1E]),
        ),
        (
            "FF FF 02 0A 00 FF 07 00 00 00 00 77 23 53",
            status(2, 0, &[0xFF, 7, 0, 0, 0, 0, 0x77, 0x23]),
        ),
        ("FF FF 01 04 00 00 08 F2", status(1, 0, &[0, 8])),
        ("FF FF 06 02 20 D7", status(6, 0x20, &[])),
    ];
    for (text, packet) in cases {
        assert_eq!(
            status_frame(packet.id, packet.code, &packet.params),
            bytes(text)
        );
        assert_eq!(parse(Direction::Status, &bytes(text)), [packet]);
    }
}

#[test]
fn garbage_around_frames_costs_no_frame() {
    let good = status_frame(3, 0, &[1, 2]);
    for garbage in [
        "FF",
        "FF FF",
        "FF FF FF",
        "00 FF",
        "FF FF 03",
        "FF FF 03 04 00 01",
        "12 34",
    ] {
        let mut stream = bytes(garbage);
        stream.extend(&good);
        stream.extend(bytes(garbage));
        stream.extend(&good);
        assert_eq!(parse(Direction::Status, &stream).len(), 2, "{garbage}");
    }
}

#[test]
fn a_header_inside_the_parameters_is_data() {
    let inner = status_frame(2, 0, &[9, 9]);
    let outer = status_frame(1, 0, &inner);
    assert_eq!(parse(Direction::Status, &outer), [status(1, 0, &inner)]);
    let extremes = status_frame(1, 0, &[0xFF, 0xFF, 0xFF, 0xFF]);
    assert_eq!(parse(Direction::Status, &extremes).len(), 1);
}

#[test]
fn no_flipped_bit_passes_for_the_frame_that_was_sent() {
    let first = status_frame(1, 0, &[0x18, 5]);
    let second = status_frame(2, 0, &[0x20, 6]);
    for bit in 0..first.len() * 8 {
        let mut stream = first.clone();
        stream[bit / 8] ^= 1 << (bit % 8);
        stream.extend(&second);
        let packets = parse(Direction::Status, &stream);
        let passes = |packet: &Packet| packet.id == 1 && packet.params.len() == 2;
        assert!(!packets.iter().any(passes), "bit {bit}");
        // A weakness of the protocol: a frame whose length byte grew by one or two swallows header bytes of the next
        // one, and the sum is right. Only the receiver's knowledge of the right length tells.
        if bit != 24 && bit != 25 {
            assert_eq!(packets, [status(2, 0, &[0x20, 6])], "bit {bit}");
        }
    }
}

/// Frames, pieces of frames, and noise with many header bytes in it.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let params = prop::collection::vec(any::<u8>(), 0..20);
    let frame = (0_u8..=0xFD, 0_u8..0x80, params)
        .prop_map(|(id, alarms, params)| status_frame(id, alarms, &params));
    let byte = prop_oneof![2 => Just(0xFF_u8), 3 => any::<u8>()];
    let noise = prop::collection::vec(byte, 0..30);
    let piece = (frame.clone(), 0_usize..30).prop_map(|(mut frame, keep)| {
        frame.truncate(keep);
        frame
    });
    let part = prop_oneof![3 => frame, 1 => piece, 2 => noise];
    prop::collection::vec(part, 1..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(unrecorded(256))]

    #[test]
    fn random_streams_never_panic_and_chunking_does_not_matter(
        stream in streams(),
        cuts in prop::collection::vec(1_usize..9, 1..40),
        is_request in any::<bool>(),
    ) {
        let direction = if is_request { Direction::Request } else { Direction::Status };
        let whole = parse(direction, &stream);
        let mut parser = Parser::new(direction);
        let mut pieces = Vec::new();
        let mut rest = stream.as_slice();
        for cut in cuts.iter().cycle() {
            let (chunk, tail) = rest.split_at((*cut).min(rest.len()));
            parser.push(chunk);
            pieces.extend(std::iter::from_fn(|| parser.next_packet()));
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
        pieces.extend(parser.finish());
        prop_assert_eq!(&pieces, &whole);
        let framed: usize = whole.iter().map(|packet| packet.params.len() + OVERHEAD).sum();
        prop_assert_eq!(parser.discarded() as usize + framed, stream.len());
    }

    /// Whatever comes before and after it, a whole frame that follows a byte that ends no header is found.
    #[test]
    fn a_frame_is_found_wherever_it_stands(
        id in 0_u8..=0xFD,
        params in prop::collection::vec(any::<u8>(), 0..40),
        before in prop::collection::vec(0_u8..0xFE, 0..40),
    ) {
        let packet = status(id, 0, &params);
        let stream = [&before[..], &status_frame(id, 0, &params)].concat();
        prop_assert_eq!(parse(Direction::Status, &stream), [packet]);
    }
}

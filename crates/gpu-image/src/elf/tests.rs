//! Headers made by hand, whole and broken.

use super::*;

/// A header with one segment of the given type, whose content is `text` right behind it.
fn program(machine: u16, segment: u32, text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 64 + SEGMENT_BYTES];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[18..20].copy_from_slice(&machine.to_le_bytes());
    bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
    bytes[56..58].copy_from_slice(&1_u16.to_le_bytes());
    bytes[64..68].copy_from_slice(&segment.to_le_bytes());
    bytes[72..80].copy_from_slice(&120_u64.to_le_bytes());
    bytes[96..104].copy_from_slice(&u64::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(text);
    bytes
}

#[track_caller]
fn check(bytes: &[u8], expected: &str) {
    let seen = match parse(bytes) {
        Ok(Header {
            architecture,
            interpreter: Some(loader),
        }) => {
            format!("{architecture} by {}", loader.display())
        }
        Ok(Header {
            architecture,
            interpreter: None,
        }) => format!("{architecture}, static"),
        Err(why) => why.to_owned(),
    };
    assert_eq!(seen, expected);
}

#[test]
fn a_dynamic_program_names_its_loader() {
    check(&program(62, 3, b"/lib64/ld.so\0"), "amd64 by /lib64/ld.so");
}

#[test]
fn a_static_program_has_none() {
    check(&program(183, 1, b""), "arm64, static");
}

#[test]
fn a_script_is_refused() {
    check(b"#!/bin/sh\n", "it is not a Linux program");
}

#[test]
fn a_32_bit_program_is_refused() {
    check(b"\x7fELF\x01\x01", "it is not a 64-bit little-endian program");
}

#[test]
fn another_machine_is_refused() {
    check(&program(40, 1, b""), "its machine is neither amd64 nor arm64");
}

#[test]
fn every_cut_is_noticed() {
    let whole = program(62, 3, b"/lib64/ld.so\0");
    for length in 6..whole.len() {
        assert_eq!(
            parse(&whole[..length]),
            Err("its header is cut off"),
            "at {length}"
        );
    }
}

#[test]
fn offsets_beyond_all_memory_are_noticed() {
    let mut bytes = program(62, 3, b"x");
    bytes[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
    check(&bytes, "its header is cut off");
}

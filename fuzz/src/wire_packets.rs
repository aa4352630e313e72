//! Packets as a client may send them: framing, compression, PROXY headers, the handshake, commands and
//! parameters.

use wire::command::{Command, LongData, ParameterContext};
use wire::compression::{Algorithm, Compressor, Decompressor};
use wire::framing::FrameDecoder;
use wire::handshake::{ChangeUser, decode_response};

const PAYLOAD_BYTES_MAX: usize = 1 << 20;

/// The first byte selects the layer, which reads the rest.
pub fn run(input: &[u8]) {
    let Some((&layer, bytes)) = input.split_first() else {
        return;
    };
    match layer % 6 {
        0 => framed(bytes),
        1 => compressed(
            bytes,
            if layer & 8 == 0 {
                Algorithm::Zlib
            } else {
                Algorithm::Zstd { level: 3 }
            },
        ),
        2 => {
            drop(wire::proxy::parse(bytes));
            let _ = wire::proxy::looks_like_header(bytes);
        }
        3 => drop(decode_response(bytes)),
        4 => drop(ChangeUser::decode(bytes, u32::MAX)),
        _ => command(bytes),
    }
}

fn framed(bytes: &[u8]) {
    let mut decoder = FrameDecoder::new(PAYLOAD_BYTES_MAX);
    // In two pieces, since packets may arrive in pieces.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    for portion in [first, second] {
        decoder.feed(portion);
        while let Ok(true) = decoder.advance() {
            command(decoder.payload());
        }
    }
}

fn compressed(bytes: &[u8], algorithm: Algorithm) {
    let mut decompressor = Decompressor::new(algorithm);
    decompressor.feed(bytes);
    while let Ok(true) = decompressor.advance(framed) {}
}

fn command(bytes: &[u8]) {
    for capabilities in [0, u32::MAX] {
        let Ok(command) = Command::decode(bytes, capabilities) else {
            continue;
        };
        let context = ParameterContext {
            capabilities,
            ..ParameterContext::default()
        };
        match command {
            Command::Query(query) => drop(query.attributes(&context)),
            Command::StmtExecute(execute) => {
                for count in [0, 1, 3, 60] {
                    drop(execute.parameters(count, &mut Vec::new(), &mut LongData::new(), &context));
                }
            }
            _ => {}
        }
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = packet_seeds();
    // A query large enough to be compressed, in both forms.
    let frame = [&[0x68, 0x01, 0, 0, 3][..], &[b'x'; 359]].concat();
    for (first, algorithm) in [(1, Algorithm::Zlib), (9, Algorithm::Zstd { level: 3 })] {
        let mut seed = vec![first];
        if Compressor::new(algorithm).compress(&frame, &mut seed).is_ok() {
            seeds.push(seed);
        }
    }
    seeds
}

fn packet_seeds() -> Vec<Vec<u8>> {
    let mut execute =
        b"\x05\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x01\x08\x00\xfd\x00\x0c\x00".to_vec();
    execute.extend(b"\x01\x00\x00\x00\x00\x00\x00\x00\x03abc\x07\xe8\x07\x02\x03\x04\x05\x06");
    let mut response = vec![3, 0x85, 0xa6, 0xff, 0x01, 0, 0, 0, 1, 45];
    response.extend([0; 23]);
    response.extend(b"root\0\x14aaaaaaaaaaaaaaaaaaaatest\0mysql_native_password\0\x06\x01a\x03bcd");
    let mut ssl_request = vec![3, 0x85, 0xae, 0x03, 0x20, 0, 0, 0, 1, 45];
    ssl_request.extend([0; 23]);
    vec![
        ssl_request,
        b"\x00\x09\x00\x00\x00\x03SELECT 1\x01\x00\x00\x00\x0e".to_vec(),
        b"\x01\x0d\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x03SELECT 1".to_vec(),
        b"\x02\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a\x21\x11\x00\x0c\x7f\x00\x00\x01\x7f\x00\x00\x01\x00\x50\x01\xbb"
            .to_vec(),
        response,
        b"\x04root\0\x00test\0\x2d\x00caching_sha2_password\0".to_vec(),
        execute,
        b"\x05\x03\x02\x01\x02\x01\xfd\x00\x01a\x06\x00\x01n\x01xSELECT 1".to_vec(),
        b"\x05\x16SELECT ?".to_vec(),
        b"\x05\x18\x01\x00\x00\x00\x00\x00data".to_vec(),
        b"\x05\x1c\x01\x00\x00\x00\x0a\x00\x00\x00".to_vec(),
        b"\x05\x04t\0%".to_vec(),
    ]
}

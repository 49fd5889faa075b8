//! Containers of Blosc 1: blocks, each shuffled and compressed on its own, in one or several streams.

use super::bits::{unshuffle, unshuffle_bits};
use std::io::Read as _;

const HEADER: usize = 16;

struct Header {
    flags: u8,
    size: usize,
    bytes: usize,
    block: usize,
}

fn word(data: &[u8], at: usize) -> Result<usize, String> {
    let four = data.get(at..).and_then(|d| d.first_chunk::<4>());
    let four = four.ok_or("the container is cut short")?;
    usize::try_from(u32::from_le_bytes(*four)).map_err(|e| e.to_string())
}

/// Decodes the container `from`.
pub(super) fn decode(from: &[u8], to: &mut Vec<u8>) -> Result<(), String> {
    if from.len() < HEADER {
        return Err("the container is cut short".to_owned());
    }
    let header = Header {
        flags: from[2],
        size: usize::from(from[3]).max(1),
        bytes: word(from, 4)?,
        block: word(from, 8)?.max(1),
    };
    to.resize(header.bytes, 0);
    if header.flags & 2 != 0 {
        let stored = from.get(HEADER..HEADER + header.bytes);
        to.copy_from_slice(stored.ok_or("the container is cut short")?);
        return Ok(());
    }
    let mut plain = vec![0; header.block];
    for (number, out) in to.chunks_mut(header.block).enumerate() {
        let start = word(from, HEADER + 4 * number)?;
        let data = from.get(start..).ok_or("a block lies behind the end")?;
        let plain = &mut plain[..out.len()];
        streams(data, &header, plain)?;
        if header.flags & 1 != 0 && header.size > 1 {
            unshuffle(plain, header.size, out);
        } else if header.flags & 4 != 0 {
            unshuffle_bits(plain, header.size, out);
        } else {
            out.copy_from_slice(plain);
        }
    }
    Ok(())
}

/// Decodes the streams of a block: one for each byte of an element, or one for all.
fn streams(data: &[u8], header: &Header, out: &mut [u8]) -> Result<(), String> {
    let size = header.size;
    let split = header.flags & 0x10 == 0
        && size <= 16
        && header.block / size >= 128
        && out.len() == header.block;
    let count = if split { size } else { 1 };
    let (part, mut at) = (out.len() / count, 0);
    for to in out.chunks_exact_mut(part) {
        let nbytes = word(data, at)?;
        let stream = data.get(at + 4..at + 4 + nbytes);
        let stream = stream.ok_or("a stream lies behind the end")?;
        if nbytes == to.len() {
            to.copy_from_slice(stream);
        } else {
            one(header.flags >> 5, stream, to)?;
        }
        at += 4 + nbytes;
    }
    Ok(())
}

fn one(codec: u8, from: &[u8], to: &mut [u8]) -> Result<(), String> {
    let found = match codec {
        1 => lz4_flex::block::decompress_into(from, to).map_err(|e| e.to_string())?,
        3 => {
            let mut decoder = flate2::read::ZlibDecoder::new(from);
            decoder.read_exact(to).map_err(|e| e.to_string())?;
            to.len()
        }
        4 => zstd::bulk::decompress_to_buffer(from, to).map_err(|e| e.to_string())?,
        other => return Err(format!("codec {other} of blosc is not known")),
    };
    if found == to.len() {
        return Ok(());
    }
    Err(format!("{found} bytes in a stream of {}", to.len()))
}

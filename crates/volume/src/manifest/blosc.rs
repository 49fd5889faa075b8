//! Containers of Blosc 1: blocks, each shuffled and compressed on its own, in one or several streams.

use super::bits::{unshuffle, unshuffle_bits};
use std::io::Read as _;
use std::ops::Range;

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

/// What blocks are decoded with.
#[derive(Default)]
pub(super) struct Tools {
    /// A block before its bytes are put in order.
    plain: Vec<u8>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

/// Decodes the blocks of the container `from` that have some of the bytes `needed`; `to` gets the length of all,
/// and elsewhere keeps what it had.
pub(super) fn decode(
    from: &[u8],
    needed: &Range<usize>,
    tools: &mut Tools,
    to: &mut Vec<u8>,
) -> Result<(), String> {
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
    let (shuffled, mixed) = (
        header.flags & 1 != 0 && header.size > 1,
        header.flags & 4 != 0,
    );
    let mut plain = std::mem::take(&mut tools.plain);
    plain.resize(header.block.min(header.bytes), 0);
    let last = needed.end.div_ceil(header.block);
    let blocks = to.chunks_mut(header.block).enumerate();
    for (number, out) in blocks.take(last).skip(needed.start / header.block) {
        let start = word(from, HEADER + 4 * number)?;
        let data = from.get(start..).ok_or("a block lies behind the end")?;
        if !shuffled && !mixed {
            streams(data, &header, tools, out)?;
            continue;
        }
        let plain = &mut plain[..out.len()];
        streams(data, &header, tools, plain)?;
        if shuffled {
            unshuffle(plain, header.size, out);
        } else {
            unshuffle_bits(plain, header.size, out);
        }
    }
    tools.plain = plain;
    Ok(())
}

/// Decodes the streams of a block: one for each byte of an element, or one for all.
fn streams(data: &[u8], header: &Header, tools: &mut Tools, out: &mut [u8]) -> Result<(), String> {
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
            one(header.flags >> 5, stream, tools, to)?;
        }
        at += 4 + nbytes;
    }
    Ok(())
}

fn one(codec: u8, from: &[u8], tools: &mut Tools, to: &mut [u8]) -> Result<(), String> {
    let found = match codec {
        1 => lz4_flex::block::decompress_into(from, to).map_err(|e| e.to_string())?,
        3 => {
            let mut decoder = flate2::read::ZlibDecoder::new(from);
            decoder.read_exact(to).map_err(|e| e.to_string())?;
            // The checksum is compared at the end.
            let more = decoder.read(&mut [0]).map_err(|e| e.to_string())?;
            to.len() + more
        }
        4 => {
            let zstd = match tools.zstd.take() {
                Some(zstd) => zstd,
                None => zstd::bulk::Decompressor::new().map_err(|e| e.to_string())?,
            };
            let found = tools.zstd.insert(zstd).decompress_to_buffer(from, to);
            found.map_err(|e| e.to_string())?
        }
        other => return Err(format!("codec {other} of blosc is not known")),
    };
    if found == to.len() {
        return Ok(());
    }
    Err(format!("{found} bytes or more in a stream of {}", to.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A container of shuffled words, in blocks of which every second one is stored as it is.
    fn container(data: &[u8], block: usize) -> Vec<u8> {
        let blocks: Vec<&[u8]> = data.chunks(block).collect();
        let shuffled = |part: &[u8]| -> Vec<u8> {
            let each = |byte: usize| part.iter().skip(byte).step_by(4).copied();
            (0..4).flat_map(each).collect()
        };
        let mut out = vec![2, 1, 4 << 5 | 0x10 | 1, 4];
        let word = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
        out.extend([word(data.len()), word(block), [0; 4]].concat());
        let mut bodies: Vec<u8> = Vec::new();
        let first = HEADER + 4 * blocks.len();
        for (number, part) in blocks.iter().enumerate() {
            out.extend(word(first + bodies.len()));
            let mut body = shuffled(part);
            if number % 2 == 0 {
                body = zstd::bulk::compress(&body, 1).unwrap();
            }
            bodies.extend(word(body.len()));
            bodies.extend(body);
        }
        out.extend(bodies);
        out
    }

    #[test]
    fn a_zlib_stream_ends_where_its_block_does() {
        let data: Vec<u8> = (0..1000u32).flat_map(|i| (i / 9).to_le_bytes()).collect();
        let mut to = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut to, &data).unwrap();
        let (mut stream, mut tools) = (to.finish().unwrap(), Tools::default());
        let mut out = vec![0; data.len()];
        one(3, &stream, &mut tools, &mut out).unwrap();
        assert!(out == data);
        assert!(one(3, &stream, &mut tools, &mut out[1..]).is_err());
        *stream.last_mut().unwrap() ^= 1;
        assert!(one(3, &stream, &mut tools, &mut out).is_err());
    }

    #[test]
    fn blocks_that_nobody_needs_are_not_decoded() {
        let data: Vec<u8> = (0..1000u32).flat_map(|i| (i / 9).to_le_bytes()).collect();
        let (block, mut tools) = (512, Tools::default());
        let whole = container(&data, block);
        let mut out = Vec::new();
        decode(&whole, &(0..usize::MAX), &mut tools, &mut out).unwrap();
        assert!(out == data);
        for (from, to) in [(0, 1), (511, 513), (1500, 2500), (3999, 4000), (0, 4000)] {
            let mut out = vec![0xAA; data.len()];
            decode(&whole, &(from..to), &mut tools, &mut out).unwrap();
            assert_eq!(out[from..to], data[from..to]);
            let decoded = from / block * block..to.div_ceil(block) * block;
            let beside = (0..data.len()).filter(|at| !decoded.contains(at));
            assert!(beside.into_iter().all(|at| out[at] == 0xAA), "{from} {to}");
        }
        // What is torn is an error where it is needed.
        let torn = &whole[..whole.len() - 9];
        assert!(decode(torn, &(0..600), &mut tools, &mut out).is_ok());
        assert!(decode(torn, &(3999..4000), &mut tools, &mut out).is_err());
    }
}

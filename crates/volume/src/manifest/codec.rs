//! Decoding chunks: a list of codecs, each from one buffer to another.

use super::{bits, blosc};
use std::io::Read;
use std::ops::Range;

/// One step of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Deflate with a header of zlib.
    Zlib,
    /// Deflate with a header of gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// A block of LZ4 behind its size in four bytes.
    Lz4,
    /// A container of Blosc 1.
    Blosc,
    /// Elements of so many bytes, all first bytes first.
    Shuffle(usize),
    /// A checksum behind the data.
    Crc32c,
    /// Rows of so many bytes that hold differences of elements of so many bytes.
    Differences {
        /// Bytes of a row.
        row_bytes: usize,
        /// Bytes of an element.
        size: usize,
    },
}

/// Buffers of one thread that decodes, and what it decodes Zstandard with.
#[derive(Default)]
pub struct Decoder {
    data: Vec<u8>,
    other: Vec<u8>,
    blosc: blosc::Tools,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Decoder {
    /// The buffer for what is read, with `nbytes` bytes.
    pub(super) fn raw(&mut self, nbytes: usize) -> &mut [u8] {
        self.data.resize(nbytes, 0);
        &mut self.data
    }

    /// The decoded chunk.
    pub(super) fn decoded(&self) -> &[u8] {
        &self.data
    }

    /// The decoded chunk, to be changed.
    pub(super) fn decoded_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }

    /// Decodes what was read; the result has `bytes` bytes, of which only `needed` need to be right. More bytes
    /// are an error if it is to be `exact`, and left out if not.
    pub(super) fn decode(
        &mut self,
        codecs: &[Codec],
        skipped: u32,
        (bytes, needed): (usize, Range<usize>),
        exact: bool,
    ) -> Result<(), String> {
        for (number, codec) in codecs.iter().enumerate() {
            if skipped >> number & 1 == 0 {
                let rest = &codecs[number + 1..];
                let needed = if rest.is_empty() {
                    needed.clone()
                } else {
                    0..usize::MAX
                };
                self.step(*codec, most_encoded(bytes, rest), &needed)?;
            }
        }
        let found = self.data.len();
        if found < bytes {
            return Err(format!("{found} bytes instead of {bytes}: it is corrupt"));
        }
        if exact && found > bytes {
            return Err(format!("more than {bytes} bytes: it is corrupt"));
        }
        self.data.truncate(bytes);
        Ok(())
    }

    fn step(&mut self, codec: Codec, bytes: usize, needed: &Range<usize>) -> Result<(), String> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            format!("{what} cannot be decoded, {error}: it is corrupt")
        };
        match codec {
            Codec::Zlib => {
                let from = flate2::read::ZlibDecoder::new(&self.data[..]);
                drain(from, &mut self.other, bytes).map_err(|e| failed("zlib", &e))?;
            }
            Codec::Gzip => {
                let from = flate2::read::MultiGzDecoder::new(&self.data[..]);
                drain(from, &mut self.other, bytes).map_err(|e| failed("gzip", &e))?;
            }
            Codec::Zstd => {
                self.other.resize(bytes, 0);
                if self.zstd.is_none() {
                    let new = zstd::bulk::Decompressor::new();
                    self.zstd = Some(new.map_err(|e| failed("zstd", &e))?);
                }
                let found = self.zstd.iter_mut().try_fold(0, |_, zstd| {
                    zstd.decompress_to_buffer(&self.data, &mut self.other[..])
                });
                let found = found.map_err(|e| failed("zstd", &e))?;
                self.other.truncate(found);
            }
            Codec::Lz4 => {
                let block = self.data.get(4..).ok_or("no LZ4 block: it is corrupt")?;
                self.other.resize(bytes, 0);
                let found = lz4_flex::block::decompress_into(block, &mut self.other);
                let found = found.map_err(|e| failed("LZ4", &e))?;
                self.other.truncate(found);
            }
            Codec::Blosc => {
                blosc::decode(&self.data, needed, &mut self.blosc, &mut self.other)
                    .map_err(|e| failed("blosc", &e))?;
            }
            Codec::Shuffle(size) => {
                self.other.resize(self.data.len(), 0);
                bits::unshuffle(&self.data, size, &mut self.other);
            }
            Codec::Crc32c => {
                bits::check_crc32c(&self.data)?;
                self.data.truncate(self.data.len() - 4);
                return Ok(());
            }
            Codec::Differences { row_bytes, size } => {
                bits::undo_differences(&mut self.data, row_bytes, size);
                return Ok(());
            }
        }
        std::mem::swap(&mut self.data, &mut self.other);
        Ok(())
    }
}

/// The most bytes that a chunk of `bytes` bytes has before `codecs` decode it: what cannot be compressed becomes larger.
fn most_encoded(bytes: usize, codecs: &[Codec]) -> usize {
    codecs.iter().fold(bytes, |most, codec| match codec {
        Codec::Zlib | Codec::Gzip | Codec::Zstd | Codec::Lz4 | Codec::Blosc => {
            most + most / 4 + 4096
        }
        Codec::Crc32c => most + 4,
        Codec::Shuffle(_) | Codec::Differences { .. } => most,
    })
}

/// Reads `from` to its end, where checksums are compared, and keeps one more than `bytes` bytes at most.
fn drain(mut from: impl Read, to: &mut Vec<u8>, bytes: usize) -> std::io::Result<()> {
    to.resize(bytes + 1, 0);
    let mut at = 0;
    while at < to.len() {
        let read = from.read(&mut to[at..])?;
        if read == 0 {
            break;
        }
        at += read;
    }
    to.truncate(at);
    std::io::copy(&mut from, &mut std::io::sink())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use std::io::Write as _;

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut to = flate2::write::ZlibEncoder::new(Vec::new(), Compression::fast());
        to.write_all(data).unwrap();
        to.finish().unwrap()
    }

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
        to.write_all(data).unwrap();
        to.finish().unwrap()
    }

    fn decoded(codec: Codec, stream: &[u8], bytes: usize, exact: bool) -> Result<Vec<u8>, String> {
        let mut decoder = Decoder::default();
        decoder.raw(stream.len()).copy_from_slice(stream);
        decoder.decode(&[codec], 0, (bytes, 0..bytes), exact)?;
        Ok(decoder.decoded().to_vec())
    }

    #[test]
    fn the_checksum_of_a_stream_that_is_too_long_is_compared() {
        let data: Vec<u8> = (0..25_000u32).flat_map(|i| (i / 9).to_le_bytes()).collect();
        // The Adler-32 of zlib is last; behind the CRC-32 of gzip is a length.
        for (codec, stream, sum) in [(Codec::Zlib, zlib(&data), 1), (Codec::Gzip, gzip(&data), 5)] {
            let mut torn = stream.clone();
            let at = torn.len() - sum;
            torn[at] ^= 1;
            for bytes in [data.len(), data.len() - 1, 1000] {
                let whole = decoded(codec, &stream, bytes, false).unwrap();
                assert!(whole == data[..bytes]);
                let error = decoded(codec, &torn, bytes, false).unwrap_err();
                assert!(error.contains("corrupt"), "{error}");
                let cut = &stream[..stream.len() - 2];
                assert!(decoded(codec, cut, bytes, false).is_err());
            }
            assert!(decoded(codec, &stream, data.len(), true).is_ok());
            assert!(decoded(codec, &stream, data.len() - 1, true).is_err());
        }
    }
}

//! Gzip into a buffer that is kept: the compressor's state is made once, so that a page costs no allocation.

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// A compressor with its window.
pub(super) struct Gzip {
    deflate: Compress,
}

/// RFC 1952: deflate, no name, no time, any system. The same page is then the same bytes.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// The least room to offer the compressor at a time.
const STEP: usize = 4096;

impl Gzip {
    pub(super) fn new() -> Self {
        // The fastest level: pages repeat themselves so much that more effort saves little.
        Self {
            deflate: Compress::new(Compression::fast(), false),
        }
    }

    /// Replaces what `out` holds by the compressed `plain`.
    pub(super) fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), flate2::CompressError> {
        out.clear();
        out.extend_from_slice(&HEADER);
        self.deflate.reset();
        loop {
            let read = usize::try_from(self.deflate.total_in()).unwrap_or(plain.len());
            out.reserve(STEP);
            let rest = &plain[read.min(plain.len())..];
            if self.deflate.compress_vec(rest, out, FlushCompress::Finish)? == Status::StreamEnd {
                break;
            }
        }
        let mut crc = Crc::new();
        crc.update(plain);
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&crc.amount().to_le_bytes());
        Ok(())
    }
}

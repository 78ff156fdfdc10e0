//! The data path: what a device would have written.

use libdeflater::{CompressionLvl, Compressor, Crc, Decompressor};
use std::cell::RefCell;

thread_local! {
    static COMPRESSOR: RefCell<Compressor> = RefCell::new(Compressor::new(CompressionLvl::new(1).expect("there is a level 1")));
}

/// Raw deflate of `plain` in `room`; `None` when it does not fit.
pub(crate) fn raw(plain: &[u8], room: &mut [u8]) -> Option<usize> {
    COMPRESSOR.with_borrow_mut(|compressor| compressor.deflate_compress(plain, room).ok())
}

/// A gzip member of `plain` in `room`, which is what the real library makes for a session that was not set up.
pub(crate) fn gzip(plain: &[u8], room: &mut [u8]) -> Option<usize> {
    const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let body = raw(plain, room.get_mut(HEADER.len()..)?)?;
    let end = HEADER.len() + body;
    let mut sum = Crc::new();
    sum.update(plain);
    let length = u32::try_from(plain.len()).ok()?;
    let trailer = room.get_mut(end..end + 8)?;
    trailer[..4].copy_from_slice(&sum.sum().to_le_bytes());
    trailer[4..].copy_from_slice(&length.to_le_bytes());
    room[..HEADER.len()].copy_from_slice(&HEADER);
    Some(end + 8)
}

/// The plain bytes of a raw deflate stream in `room`; `None` when it is damaged or they do not fit.
pub(crate) fn inflate(stream: &[u8], room: &mut [u8]) -> Option<usize> {
    Decompressor::new().deflate_decompress(stream, room).ok()
}

#[cfg(test)]
mod tests {
    use super::{gzip, inflate, raw};
    use libdeflater::Decompressor;

    #[test]
    fn what_is_deflated_inflates_again_and_gzip_is_gzip() {
        let plain = b"a device writes what any inflate reads. ".repeat(500);
        let mut room = vec![0; plain.len()];
        let length = raw(&plain, &mut room).unwrap();
        let mut back = vec![0; plain.len()];
        assert_eq!(inflate(&room[..length], &mut back), Some(plain.len()));
        assert_eq!(back, plain);
        let length = gzip(&plain, &mut room).unwrap();
        assert_eq!(Decompressor::new().gzip_decompress(&room[..length], &mut back), Ok(plain.len()));
        assert_eq!(raw(&plain, &mut [0; 8]), None);
        assert_eq!(inflate(b"no stream", &mut back), None);
    }
}

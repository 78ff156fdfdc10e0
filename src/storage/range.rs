//! What a ranged read may ask of an object whose length is known.

use std::io;
use std::ops::Range;

/// The number of bytes in `range`, which must lie inside an object of `length` bytes; checked before memory is taken.
///
/// # Errors
/// `UnexpectedEof` when the object ends before the range does; `InvalidInput` when the range ends before it starts.
pub(super) fn span(range: &Range<u64>, length: u64) -> io::Result<usize> {
    let Some(span) = range.end.checked_sub(range.start) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the range ends before it starts"));
    };
    if range.end > length {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("bytes {}..{} were asked for, it has {length}", range.start, range.end),
        ));
    }
    usize::try_from(span).map_err(io::Error::other)
}

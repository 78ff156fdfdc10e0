//! Records: CBOR maps with ascending integer keys (`repo-format.md`, conventions).

use super::{FormatError, Time};
use minicbor::decode::Decoder;
use minicbor::encode::Encoder;
use zeroize::Zeroize;

/// Collects the entries of one map, then writes it with its length in front.
#[derive(Debug)]
pub(crate) struct MapWriter {
    entries: u64,
    body: Encoder<Vec<u8>>,
}

impl MapWriter {
    pub(crate) fn new() -> Self {
        Self { entries: 0, body: Encoder::new(Vec::new()) }
    }

    /// Writes the key of the next entry; the caller writes exactly one value after it.
    pub(crate) fn entry(&mut self, key: u64) -> &mut Encoder<Vec<u8>> {
        self.entries += 1;
        ok(self.body.u64(key));
        &mut self.body
    }

    pub(crate) fn u64(&mut self, key: u64, value: u64) {
        ok(self.entry(key).u64(value));
    }

    /// Leaves the entry out when `value` is what a missing key means.
    pub(crate) fn u64_unless(&mut self, key: u64, value: u64, missing: u64) {
        if value != missing {
            self.u64(key, value);
        }
    }

    pub(crate) fn bytes(&mut self, key: u64, value: &[u8]) {
        ok(self.entry(key).bytes(value));
    }

    pub(crate) fn text(&mut self, key: u64, value: &str) {
        ok(self.entry(key).str(value));
    }

    pub(crate) fn time(&mut self, key: u64, time: Time) {
        ok(self.entry(key).array(2));
        ok(self.body.i64(time.seconds));
        ok(self.body.u32(time.nanos));
    }

    pub(crate) fn texts(&mut self, key: u64, values: &[String]) {
        ok(self.entry(key).array(values.len() as u64));
        for value in values {
            ok(self.body.str(value));
        }
    }

    /// Writes an entry whose value is already encoded.
    pub(crate) fn raw(&mut self, key: u64, value: &[u8]) {
        self.entry(key);
        self.body.writer_mut().extend_from_slice(value);
    }

    /// A writer for secrets: with so much room that it never leaves a copy behind by growing.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self { entries: 0, body: Encoder::new(Vec::with_capacity(bytes)) }
    }

    /// As [`finish`](Self::finish), with room for `more` bytes behind, and what was collected wiped.
    pub(crate) fn finish_wiped(self, more: usize) -> Vec<u8> {
        let mut body = self.body.into_writer();
        let mut whole = Encoder::new(Vec::with_capacity(body.len() + 9 + more));
        ok(whole.map(self.entries));
        whole.writer_mut().extend_from_slice(&body);
        body.zeroize();
        whole.into_writer()
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let body = self.body.into_writer();
        let mut whole = Encoder::new(Vec::with_capacity(body.len() + 9));
        ok(whole.map(self.entries));
        whole.writer_mut().extend_from_slice(&body);
        whole.into_writer()
    }
}

/// Writing into a vector cannot fail.
#[expect(clippy::needless_pass_by_value, reason = "a result is consumed by looking at it")]
pub(crate) fn ok<T, E>(result: Result<T, E>) {
    debug_assert!(result.is_ok(), "writing into a vector cannot fail");
}

/// Reads one map, entry by entry, and refuses keys that do not ascend.
#[derive(Debug)]
pub(crate) struct MapReader<'r, 'b> {
    decoder: &'r mut Decoder<'b>,
    what: &'static str,
    left: u64,
    last: Option<u64>,
}

impl<'r, 'b> MapReader<'r, 'b> {
    /// Begins at a map in `decoder`; `what` names the record in errors.
    pub(crate) fn new(decoder: &'r mut Decoder<'b>, what: &'static str) -> Result<Self, FormatError> {
        let left = decoder.map().map_err(|e| record_error(what, &e))?;
        let left = left.ok_or(FormatError::Record { what, reason: "a length is not stated".to_owned() })?;
        Ok(Self { decoder, what, left, last: None })
    }

    /// The next key, or `None` at the end of the map.
    pub(crate) fn next_key(&mut self) -> Result<Option<u64>, FormatError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let key = self.decoder.u64().map_err(|e| record_error(self.what, &e))?;
        if self.last.is_some_and(|last| last >= key) {
            return Err(FormatError::Record { what: self.what, reason: "the keys do not ascend".to_owned() });
        }
        self.last = Some(key);
        Ok(Some(key))
    }

    pub(crate) fn skip(&mut self) -> Result<(), FormatError> {
        self.decoder.skip().map_err(|e| record_error(self.what, &e))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FormatError> {
        self.decoder.u64().map_err(|e| record_error(self.what, &e))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, FormatError> {
        self.decoder.i64().map_err(|e| record_error(self.what, &e))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, FormatError> {
        self.decoder.u32().map_err(|e| record_error(self.what, &e))
    }

    pub(crate) fn bool(&mut self) -> Result<bool, FormatError> {
        self.decoder.bool().map_err(|e| record_error(self.what, &e))
    }

    pub(crate) fn bytes(&mut self, limit: usize) -> Result<&'b [u8], FormatError> {
        let bytes = self.decoder.bytes().map_err(|e| record_error(self.what, &e))?;
        check_limit(self.what, bytes.len(), limit)?;
        Ok(bytes)
    }

    pub(crate) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let bytes = self.decoder.bytes().map_err(|e| record_error(self.what, &e))?;
        bytes.try_into().map_err(|_| FormatError::Record { what: self.what, reason: format!("not {N} bytes") })
    }

    pub(crate) fn text(&mut self, limit: usize) -> Result<String, FormatError> {
        let text = self.decoder.str().map_err(|e| record_error(self.what, &e))?;
        check_limit(self.what, text.len(), limit)?;
        Ok(text.to_owned())
    }

    pub(crate) fn time(&mut self) -> Result<Time, FormatError> {
        self.array(2, 2)?;
        let time = Time { seconds: self.i64()?, nanos: self.u32()? };
        if time.nanos >= 1_000_000_000 {
            return Err(FormatError::Record { what: self.what, reason: "a time has too many nanoseconds".to_owned() });
        }
        Ok(time)
    }

    /// The length of an array that begins here, between `least` and `most`.
    pub(crate) fn array(&mut self, least: usize, most: usize) -> Result<usize, FormatError> {
        array(self.decoder, self.what, least, most)
    }

    pub(crate) fn texts(&mut self, most: usize, limit: usize) -> Result<Vec<String>, FormatError> {
        let count = self.array(0, most)?;
        (0..count).map(|_| self.text(limit)).collect()
    }

    /// A map or another value that the caller reads itself.
    pub(crate) fn decoder(&mut self) -> &mut Decoder<'b> {
        self.decoder
    }
}

/// The length of the array that begins at `decoder`, between `least` and `most`.
pub(crate) fn array(
    decoder: &mut Decoder<'_>,
    what: &'static str,
    least: usize,
    most: usize,
) -> Result<usize, FormatError> {
    let count = decoder.array().map_err(|e| record_error(what, &e))?;
    let count = count.ok_or(FormatError::Record { what, reason: "a length is not stated".to_owned() })?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    check_limit(what, count, most)?;
    if count < least {
        return Err(FormatError::Record { what, reason: "an array is too short".to_owned() });
    }
    Ok(count)
}

/// Reads one whole record; bytes behind it are an error.
pub(crate) fn whole<'b, T>(
    bytes: &'b [u8],
    what: &'static str,
    read: impl FnOnce(&mut Decoder<'b>) -> Result<T, FormatError>,
) -> Result<T, FormatError> {
    let mut decoder = Decoder::new(bytes);
    let value = read(&mut decoder)?;
    if decoder.position() != bytes.len() {
        return Err(FormatError::Record { what, reason: "there are bytes behind it".to_owned() });
    }
    Ok(value)
}

pub(crate) fn missing(what: &'static str, field: &str) -> FormatError {
    FormatError::Record { what, reason: format!("{field} is missing") }
}

pub(crate) fn record_error(what: &'static str, error: &minicbor::decode::Error) -> FormatError {
    FormatError::Record { what, reason: error.to_string() }
}

pub(crate) fn check_limit(what: &'static str, value: usize, limit: usize) -> Result<(), FormatError> {
    if value > limit {
        return Err(FormatError::Limit { what, value: value as u64, limit: limit as u64 });
    }
    Ok(())
}

//! Why bytes are not what they claim to be.

use thiserror::Error;

/// Bytes that break the format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// The object does not begin with the magic bytes.
    #[error("not a nightjar object")]
    Magic,
    /// The object was written by a newer version of the format.
    #[error("format version {0} is newer than version 1")]
    Version(u8),
    /// A part is shorter than it must be.
    #[error("{what} is cut short")]
    Truncated {
        /// The part.
        what: &'static str,
    },
    /// A number is outside its limits.
    #[error("{what} is {value}, limit is {limit}")]
    Limit {
        /// The field.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest value allowed.
        limit: u64,
    },
    /// A field breaks a rule of the format.
    #[error("{what} is invalid")]
    Invalid {
        /// The field.
        what: &'static str,
    },
    /// A record is not the CBOR that it must be.
    #[error("{what} is not a valid record: {reason}")]
    Record {
        /// The record.
        what: &'static str,
        /// What the decoder said.
        reason: String,
    },
}

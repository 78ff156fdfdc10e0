//! Names from file systems in JSON.

use crate::ui::base64;
use serde_json::{Map, Value};

/// Puts `name` under `key`; where it is not UTF-8, as good as possible, with the exact bytes under `key_b64`.
pub(super) fn put_name(record: &mut Map<String, Value>, key: &str, name: &[u8]) {
    record.insert(key.to_owned(), Value::from(String::from_utf8_lossy(name).into_owned()));
    if std::str::from_utf8(name).is_err() {
        record.insert(format!("{key}_b64"), Value::from(base64(name)));
    }
}

/// A record of this type.
pub(super) fn record(kind: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), Value::from(kind))])
}

#[cfg(test)]
mod tests {
    use super::{put_name, record};
    use serde_json::{Value, json};

    #[test]
    fn bytes_that_json_cannot_hold_are_not_lost() {
        let mut node = record("node");
        put_name(&mut node, "path", b"a\xff");
        put_name(&mut node, "target", b"b");
        let expected = json!({"type": "node", "path": "a\u{fffd}", "path_b64": "Yf8=", "target": "b"});
        assert_eq!(Value::from(node), expected);
    }
}

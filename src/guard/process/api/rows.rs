//! The rows of the tests: `rows.yaml`.

use serde::de::DeserializeOwned;

/// The rows of one test.
pub fn of<T: DeserializeOwned>(test: &str) -> T {
    let mut all: serde_json::Value = serde_saphyr::from_str(include_str!("rows.yaml")).unwrap();
    serde_json::from_value(all[test].take()).unwrap()
}

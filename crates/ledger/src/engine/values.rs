//! Values of a server: parameters in its text form, and columns as SQLite would have them.

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql as ServerToSql, Type};

use super::address::whole_text;
use super::error::{Error, Result};
use crate::ledger::time;

/// A row.
#[derive(Debug)]
pub struct ServerRow(pub(super) tokio_postgres::Row);

/// A parameter in the server's text form. The server determines its type from where it is used.
#[derive(Debug)]
pub struct Text(Option<String>);

/// The parameters of a statement.
pub fn texts(values: &[&dyn ToSql]) -> Result<Vec<Text>> {
    let text = |value: ValueRef<'_>| match value {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => Ok(Some(number.to_string())),
        ValueRef::Real(number) => Ok(Some(number.to_string())),
        // The server has no text with NUL.
        ValueRef::Text(text) => Ok(Some(String::from_utf8_lossy(text).replace('\0', "\u{fffd}"))),
        ValueRef::Blob(_) => Err(Error::Server("the ledger has no binary values".to_owned())),
    };
    values
        .iter()
        .map(|value| {
            Ok(Text(match value.to_sql()? {
                ToSqlOutput::Borrowed(value) => text(value)?,
                ToSqlOutput::Owned(value) => text(ValueRef::from(&value))?,
                _ => None,
            }))
        })
        .collect()
}

/// Parameters as the client library takes them.
pub fn typed(values: &[Text]) -> Vec<(&(dyn ServerToSql + Sync), Type)> {
    values.iter().map(|value| (value as &(dyn ServerToSql + Sync), Type::UNKNOWN)).collect()
}

impl ServerToSql for Text {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match &self.0 {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    tokio_postgres::types::to_sql_checked!();
}

impl ServerRow {
    /// The value of a column, as SQLite would have it.
    pub fn value(&self, column: usize) -> Result<Value> {
        let value: std::result::Result<Option<Read>, _> = self.0.try_get(column);
        Ok(value.map_err(|error| Error::Server(whole_text(&error)))?.map_or(Value::Null, |read| read.0))
    }
}

struct Read(Value);

impl<'a> FromSql<'a> for Read {
    fn from_sql(
        kind: &Type,
        raw: &'a [u8],
    ) -> std::result::Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(match *kind {
            Type::BOOL => Value::Integer(bool::from_sql(kind, raw)?.into()),
            Type::INT2 => Value::Integer(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Value::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Value::Integer(i64::from_sql(kind, raw)?),
            Type::FLOAT4 => Value::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => whole_number(raw).map(Value::Integer).ok_or("a number with a fraction")?,
            Type::TIMESTAMPTZ => Value::Text(timestamp(raw).map(time::write).ok_or("a time out of range")?),
            _ => Value::Text(String::from_utf8_lossy(raw).into_owned()),
        }))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Microseconds since 2000.
fn timestamp(raw: &[u8]) -> Option<DateTime<Utc>> {
    let micros = i64::from_be_bytes(raw.try_into().ok()?);
    let start = DateTime::from_timestamp(946_684_800, 0)?;
    start.checked_add_signed(TimeDelta::microseconds(micros))
}

/// A sum of integers: groups of four digits, and the power of 10,000 of the first.
fn whole_number(raw: &[u8]) -> Option<i64> {
    let word = |at: usize| Some(i16::from_be_bytes(raw.get(at * 2..at * 2 + 2)?.try_into().ok()?));
    let (count, first, sign) = (word(0)?, word(1)?, word(2)?);
    let mut number: i64 = 0;
    for place in 0..=i32::from(first) {
        let digits = if place < i32::from(count) { word(4 + usize::try_from(place).ok()?)? } else { 0 };
        number = number.checked_mul(10_000)?.checked_add(digits.into())?;
    }
    let is_whole = count <= first + 1;
    is_whole.then_some(if sign == 0 { number } else { -number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_read_as_whole_numbers() {
        let raw = |words: &[i16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        assert_eq!(whole_number(&raw(&[0, 0, 0, 0])), Some(0));
        assert_eq!(whole_number(&raw(&[1, 0, 0, 0, 42])), Some(42));
        assert_eq!(whole_number(&raw(&[2, 1, 0, 0, 12, 34])), Some(120_034));
        assert_eq!(whole_number(&raw(&[1, 2, 0, 0, 5])), Some(500_000_000));
        assert_eq!(whole_number(&raw(&[1, 0, 0x4000, 0, 7])), Some(-7));
        assert_eq!(whole_number(&raw(&[2, 0, 0, 1, 7, 5000])), None);
    }

    #[test]
    fn times_are_read_as_the_ledger_writes_them() {
        let raw = (827_677_800_i64 * 1_000_000).to_be_bytes();
        assert_eq!(timestamp(&raw).map(time::write).as_deref(), Some("2026-03-24T14:30:00Z"));
    }
}

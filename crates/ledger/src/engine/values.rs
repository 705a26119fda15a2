//! Values of a server: parameters in its text form, and columns as SQLite would have them.

use chrono::{DateTime, Utc};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql as ServerToSql, Type};

use super::address::whole_text;
use super::error::{EngineResult as Result, Error};
use crate::time;

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

/// Parameters of a statement whose types the server has determined.
pub fn plain(values: &[Text]) -> Vec<&(dyn ServerToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ServerToSql + Sync)).collect()
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

/// The value of a column, as SQLite would have it.
pub fn value(row: &Row, column: usize) -> Result<Value> {
    let value: Option<Read> = row.try_get(column).map_err(|error| Error::Server(whole_text(&error)))?;
    Ok(value.map_or(Value::Null, |read| read.0))
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
            Type::TIMESTAMPTZ => Value::Text(time::write(DateTime::<Utc>::from_sql(kind, raw)?)),
            _ => Value::Text(String::from_utf8_lossy(raw).into_owned()),
        }))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

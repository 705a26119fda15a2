//! Queries of which some conditions apply: each has its own plan, and so its own index.

use rusqlite::ToSql;

/// A query whose conditions are added one by one. A `?` stands for the value that is added with it.
pub struct Select<'a> {
    sql: String,
    values: Vec<&'a dyn ToSql>,
    has_condition: bool,
}

impl<'a> Select<'a> {
    /// A query of these columns and tables, without a condition.
    pub fn new(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), values: vec![], has_condition: false }
    }

    /// Adds a condition on a value, if there is one.
    pub fn only(self, condition: &str, value: Option<&'a impl ToSql>) -> Self {
        let Some(value) = value else { return self };
        self.always(condition).with(value)
    }

    /// Adds a condition.
    pub fn always(mut self, condition: &str) -> Self {
        self.sql += if self.has_condition { " AND " } else { " WHERE " };
        self.has_condition = true;
        self.then(condition)
    }

    /// Adds what follows the conditions.
    pub fn then(mut self, text: &str) -> Self {
        self.sql += &text.replace('?', &format!("?{}", self.values.len() + 1));
        self
    }

    /// Adds the value that the last `?` stands for.
    pub fn with(mut self, value: &'a dyn ToSql) -> Self {
        self.values.push(value);
        self
    }

    /// The statement.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// Its values.
    pub fn values(&self) -> &[&'a dyn ToSql] {
        &self.values
    }
}

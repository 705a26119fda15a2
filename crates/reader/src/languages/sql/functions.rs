//! Functions of SQL that only read.

use crate::languages::names::sql;

/// The functions that a database may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Functions {
    /// Functions may have been added, and some built-in ones change something: only the listed ones read.
    Listed,
    /// Only built-in functions, few of which change something.
    BuiltIn,
}

impl Functions {
    /// Whether the word before a bracket is a function that reads, or not a function.
    pub(super) fn reads(self, name: &str) -> bool {
        if sql::NOT_FUNCTIONS.has(name) {
            return true;
        }
        if self == Self::BuiltIn {
            return !sql::CHANGING_FUNCTIONS.has(name) && !name.starts_with("pg_");
        }
        let plain = name.strip_prefix("pg_catalog.").unwrap_or(name);
        sql::READING_FUNCTIONS.has(plain) || sql::READING_PREFIXES.begin(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::Functions;
    use crate::languages::cases::check_rows;

    #[test]
    fn functions_that_change_are_not_listed() {
        check_rows("sql_functions", "listed", |name| Functions::Listed.reads(name).to_string());
        check_rows("sql_functions", "built_in", |name| Functions::BuiltIn.reads(name).to_string());
    }
}

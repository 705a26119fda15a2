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
    use super::*;

    #[test]
    fn functions_that_change_are_not_listed() {
        for name in [
            "pg_reload_conf",
            "pg_terminate_backend",
            "setval",
            "nextval",
            "lo_import",
            "dblink_exec",
            "set_config",
            "x.count",
            "cron.schedule",
            "pg_advisory_lock",
            "get_lock",
        ] {
            assert!(!Functions::Listed.reads(name), "{name}");
        }
        for name in ["count", "pg_catalog.count", "pg_get_indexdef", "json_agg", "in"] {
            assert!(Functions::Listed.reads(name), "{name}");
        }
        assert!(
            Functions::BuiltIn.reads("formatreadablesize") && !Functions::BuiltIn.reads("load_extension")
        );
    }
}

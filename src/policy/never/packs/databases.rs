//! Data in databases.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[DefaultRule {
    name: "destroy-rows",
    reason: "Data in databases is not removed to repair a service. Report what you found and leave it to a person.",
    matches: &[
        "psql -U shop -c 'DROP TABLE orders'",
        "docker exec db mysql -e 'truncate orders'",
        "sqlite3 app.db 'DELETE FROM jobs'",
        "echo 'drop database shop' | ssh root@db01 psql",
    ],
    differs: &[
        "psql -c 'SELECT * FROM orders'",
        "sqlite3 app.db 'DELETE FROM jobs WHERE id = 3'",
        "grep -r 'DROP TABLE' migrations",
        "psql -c \"SELECT 'drop table x'\"",
    ],
    ..RULE
}];

//! The rights of roles on a server: agents add rows and read them, and change only what goes on, such as a reservation that is
//! settled. No agent changes or deletes history.

use super::database::Ledger;
use crate::engine;
use crate::engine::{Connection, Result, Row};

/// Who uses the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// An agent: its hooks and its verbs.
    Agent,
    /// A guard as a process, and the persons who answer questions through it.
    Guard,
}

const ADD: &str = "SELECT, INSERT";
const CHANGE: &str = "SELECT, INSERT, UPDATE";
const SETTLE: &str = "SELECT, INSERT, UPDATE (state, settled_at, gate)";
const USE: &str = "SELECT, INSERT, UPDATE (used_at, gate)";
const ALL: &str = "SELECT, INSERT, UPDATE, DELETE";

/// Each table, with the rights of agents and of guards on it.
const TABLES: [(&str, &str, &str); 35] = [
    ("opsctl_migrations", "SELECT", "SELECT"),
    ("events", ADD, ADD),
    ("cooldown_actions", ADD, ADD),
    ("hook_actions", SETTLE, SETTLE),
    // Only guards clear budgets.
    ("budget_resets", "SELECT", ADD),
    ("service_health_streak", CHANGE, ALL),
    ("service_checks", ADD, "SELECT, INSERT, DELETE"),
    ("verified_checks", "SELECT", ADD),
    ("hook_settled", ADD, ADD),
    ("allowed_requests", ADD, ADD),
    ("notices", ADD, ADD),
    ("notice_attempts", ADD, ADD),
    // Only guards state that a notice is delivered.
    ("notice_deliveries", "SELECT", ADD),
    ("client_runs", CHANGE, CHANGE),
    ("verifications", ADD, ADD),
    ("hook_decisions", ADD, ADD),
    ("audit_head", CHANGE, CHANGE),
    ("hook_times", ADD, ADD),
    ("hook_sessions", CHANGE, CHANGE),
    ("hook_calls", ALL, ALL),
    ("hook_subagents", CHANGE, CHANGE),
    ("session_reminders", CHANGE, CHANGE),
    ("engine_containers", ALL, ALL),
    ("recorded_actions", ADD, ADD),
    ("recorded_events", ADD, ADD),
    ("questions", USE, USE),
    // Answers and grants of persons are signed.
    ("question_answers", "SELECT", ADD),
    ("grants", "SELECT", "SELECT, INSERT, UPDATE (signature)"),
    ("grant_uses", ADD, ADD),
    (
        "api_requests",
        "SELECT",
        "SELECT, INSERT, DELETE, UPDATE (model, input_tokens, output_tokens, cache_write_tokens, cache_write_1h_tokens, cache_read_tokens, \
         web_searches, cost_micros, estimated)",
    ),
    ("running_counts", "SELECT", CHANGE),
    ("counted_rows", "SELECT", CHANGE),
    ("desk_logins", "", "SELECT, INSERT, DELETE"),
    ("desk_check", "SELECT", CHANGE),
    ("leases", ALL, ALL),
];

/// The names of all tables.
pub(crate) fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(name, ..)| *name)
}

/// Whether a column of a row changes after it was added.
pub(crate) fn is_changeable(table: &str, column: &str) -> bool {
    let Some((.., rights)) = TABLES.iter().find(|(known, ..)| *known == table) else { return false };
    let Some((_, rights)) = rights.split_once("UPDATE") else { return false };
    match rights.strip_prefix(" (").and_then(|rights| rights.split_once(')')) {
        Some((columns, _)) => columns.split(", ").any(|known| known == column),
        None => true,
    }
}

/// The statements that give these rights to a role, and no others. To be run by the owner of the tables.
pub fn statements(role: &str, user: User, database: Option<&str>) -> Vec<String> {
    let role = quoted(role);
    let database = database.map(|name| format!("GRANT CONNECT ON DATABASE {} TO {role};", quoted(name)));
    let fixed = [
        format!("GRANT USAGE ON SCHEMA public TO {role};"),
        // What an earlier release needed, too.
        format!("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role};"),
        format!("GRANT SELECT ON notice_states TO {role};"),
    ];
    let rights = TABLES.iter().map(|(table, agent, guard)| match user {
        User::Agent => (table, agent),
        User::Guard => (table, guard),
    });
    let rights = rights.filter(|(_, rights)| !rights.is_empty());
    let rights = rights.map(|(table, rights)| format!("GRANT {rights} ON {table} TO {role};"));
    database.into_iter().chain(fixed).chain(rights).collect()
}

/// A name as SQL writes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// How the rights of a role differ from those of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rights {
    /// What it may not do and has to, such as `INSERT on events`.
    pub missing: Vec<String>,
    /// The tables whose rows it may change or delete, and which no agent changes.
    pub too_much: Vec<String>,
}

/// The rights of this connection's role.
pub(crate) fn of(connection: &Connection) -> Result<Rights> {
    let names: Vec<String> = tables().map(|table| format!("('{table}')")).collect();
    let sql = format!(
        "SELECT name, has_table_privilege(name, 'SELECT'), has_table_privilege(name, 'INSERT'),
             has_any_column_privilege(name, 'UPDATE'), has_table_privilege(name, 'UPDATE'),
             has_table_privilege(name, 'DELETE'), has_table_privilege(name, 'TRUNCATE')
         FROM (VALUES {}) AS tables (name) WHERE to_regclass(name) IS NOT NULL",
        names.join(", ")
    );
    let mut rights = Rights::default();
    connection.query(&sql, &[], |row| {
        let name: String = row.get(0)?;
        let Some((_, agent, guard)) = TABLES.iter().find(|(table, ..)| *table == name) else { return Ok(()) };
        let may = |column| row.get::<bool>(column);
        let wanted = |right: &str| agent.split(", ").any(|listed| listed == right);
        for (right, has) in [("SELECT", may(1)?), ("INSERT", may(2)?), ("DELETE", may(5)?)] {
            if wanted(right) && !has {
                rights.missing.push(format!("{right} on {name}"));
            }
        }
        if agent.contains("UPDATE") && !may(3)? {
            rights.missing.push(format!("UPDATE on {name}"));
        }
        if may(6)? || (may(5)? && !guard.contains("DELETE")) || (may(4)? && !guard.contains("UPDATE")) {
            rights.too_much.push(name);
        }
        Ok(())
    })?;
    Ok(rights)
}

impl Ledger {
    /// The statements that give a role the rights that it needs on this ledger. Creates its tables, if that is left to do.
    pub fn grant_statements(
        location: impl Into<crate::Location>,
        roles: &[(&str, User)],
    ) -> Result<Vec<String>> {
        let ledger = Self::open(location)?;
        let sql = "SELECT current_database(), tableowner FROM pg_tables
             WHERE schemaname = current_schema() AND tablename = 'opsctl_migrations'";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (name, owner): (String, String) = ledger.query_row(sql, &[], read)?;
        if roles.iter().any(|(role, _)| *role == owner) {
            let why = format!("the role {owner} owns its tables; grant to another role, which agents use");
            return Err(ledger.failure(engine::Error::Server(why)));
        }
        Ok(roles.iter().flat_map(|(role, user)| statements(role, *user, Some(&name))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::migrate;
    use super::*;

    #[test]
    fn every_table_of_the_server_has_rights() {
        let mut created: Vec<String> = migrate::tables_on_server();
        created.push("opsctl_migrations".to_owned());
        created.sort();
        let mut known: Vec<&str> = tables().collect();
        known.sort_unstable();
        assert_eq!(known, created);
    }

    #[test]
    fn a_name_cannot_end_a_statement() {
        let statements = statements("a\"; DROP TABLE events; --", User::Agent, Some("ops"));
        assert_eq!(statements[0], "GRANT CONNECT ON DATABASE \"ops\" TO \"a\"\"; DROP TABLE events; --\";");
    }

    #[test]
    fn no_agent_changes_history() {
        let rights = |name: &&str| TABLES.into_iter().find(|(table, ..)| table == name).unwrap();
        for name in ["events", "cooldown_actions", "hook_decisions", "hook_settled", "recorded_actions"] {
            assert_eq!(rights(&name), (name, ADD, ADD));
        }
        for name in ["question_answers", "grants", "budget_resets", "verified_checks", "notice_deliveries"] {
            assert_eq!(rights(&name).1, "SELECT", "{name}");
        }
    }
}

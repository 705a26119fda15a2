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

/// A table, and the rights on it.
struct Table {
    name: &'static str,
    agent: &'static str,
    guard: &'static str,
}

const fn table(name: &'static str, rights: &'static str) -> Table {
    Table { name, agent: rights, guard: rights }
}

const fn guards(name: &'static str, agent: &'static str, guard: &'static str) -> Table {
    Table { name, agent, guard }
}

const ADD: &str = "SELECT, INSERT";
const CHANGE: &str = "SELECT, INSERT, UPDATE";
const ALL: &str = "SELECT, INSERT, UPDATE, DELETE";

const TABLES: [Table; 33] = [
    table("opsctl_migrations", "SELECT"),
    table("events", ADD),
    table("cooldown_actions", ADD),
    table("hook_actions", "SELECT, INSERT, UPDATE (state, settled_at)"),
    // Only guards clear budgets.
    guards("budget_resets", "SELECT", ADD),
    guards("service_health_streak", CHANGE, ALL),
    guards("service_checks", ADD, "SELECT, INSERT, DELETE"),
    guards("verified_checks", "SELECT", ADD),
    table("hook_settled", ADD),
    table("allowed_requests", ADD),
    table("notices", ADD),
    table("notice_attempts", ADD),
    // Only guards state that a notice is delivered.
    guards("notice_deliveries", "SELECT", ADD),
    table("client_runs", CHANGE),
    table("verifications", ADD),
    table("hook_decisions", ADD),
    table("hook_times", ADD),
    table("hook_sessions", CHANGE),
    table("hook_calls", ALL),
    table("hook_subagents", CHANGE),
    table("session_reminders", CHANGE),
    table("engine_containers", ALL),
    table("recorded_actions", ADD),
    table("recorded_events", ADD),
    table("questions", "SELECT, INSERT, UPDATE (used_at)"),
    // Answers and grants of persons are signed.
    guards("question_answers", "SELECT", ADD),
    guards("grants", "SELECT", "SELECT, INSERT, UPDATE (signature)"),
    table("grant_uses", ADD),
    guards(
        "api_requests",
        "SELECT",
        "SELECT, INSERT, DELETE, UPDATE (model, input_tokens, output_tokens, cache_write_tokens, cache_write_1h_tokens, cache_read_tokens, \
         web_searches, cost_micros, estimated)",
    ),
    table("pruned_counts", "SELECT"),
    guards("desk_logins", "", "SELECT, INSERT, DELETE"),
    guards("desk_check", "SELECT", CHANGE),
    table("leases", ALL),
];

impl Table {
    const fn rights(&self, user: User) -> &'static str {
        match user {
            User::Agent => self.agent,
            User::Guard => self.guard,
        }
    }
}

/// The names of all tables.
pub(crate) fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.name)
}

/// Whether a column of a row changes after it was added.
pub(crate) fn is_changeable(table: &str, column: &str) -> bool {
    if table == "pruned_counts" {
        // Only the owner deletes rows, and counts them here.
        return true;
    }
    let Some(table) = TABLES.iter().find(|known| known.name == table) else { return false };
    let Some((_, rights)) = table.guard.split_once("UPDATE") else { return false };
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
    let tables = TABLES.iter().filter(|table| !table.rights(user).is_empty());
    let rights = tables.map(|table| format!("GRANT {} ON {} TO {role};", table.rights(user), table.name));
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
    let names: Vec<String> = TABLES.iter().map(|table| format!("('{}')", table.name)).collect();
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
        let Some(table) = TABLES.iter().find(|table| table.name == name) else { return Ok(()) };
        let may = |column| row.get::<bool>(column);
        let wanted = |right: &str| table.agent.split(", ").any(|listed| listed == right);
        for (right, has) in [("SELECT", may(1)?), ("INSERT", may(2)?), ("DELETE", may(5)?)] {
            if wanted(right) && !has {
                rights.missing.push(format!("{right} on {name}"));
            }
        }
        if table.agent.contains("UPDATE") && !may(3)? {
            rights.missing.push(format!("UPDATE on {name}"));
        }
        if may(6)?
            || (may(5)? && !table.guard.contains("DELETE"))
            || (may(4)? && !table.guard.contains("UPDATE"))
        {
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
        let mut known: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
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
        for name in ["events", "cooldown_actions", "hook_decisions", "hook_settled", "recorded_actions"] {
            let table = TABLES.iter().find(|table| table.name == name).unwrap();
            assert_eq!((table.agent, table.guard), (ADD, ADD), "{name}");
        }
        for name in ["question_answers", "grants", "budget_resets", "verified_checks", "notice_deliveries"] {
            let table = TABLES.iter().find(|table| table.name == name).unwrap();
            assert_eq!(table.agent, "SELECT", "{name}");
        }
    }
}

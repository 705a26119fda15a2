//! The `desk_logins` table: logins at the desk. And what else the desk asks: whether the ledger can be written, whether it
//! has changed.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::call_id::CallId;
use crate::engine::{OptionalExtension as _, Result, insert, params};
use crate::file::database::{Change, Ledger};
use crate::file::folder_lock::folder_of;
use crate::file::locks::Scope;
use crate::location::Location;
use crate::records::decisions::NewDecision;
use crate::time;
use opsctl_policy::decide::{BudgetKey, Reservation};
use opsctl_policy::model::records::event::{Level, NewEvent, ToolResult};
use opsctl_reader::terms::action::Verb;

/// A login at the desk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// SHA-256 of the cookie, in hexadecimal.
    pub digest: String,
    /// Who logged in, as recorded with answers.
    pub who: String,
    /// When it expires.
    pub expires_at: DateTime<Utc>,
}

impl Change<'_> {
    /// Records a login, and removes those that have expired.
    pub fn add_login(&self, login: &Login, now: DateTime<Utc>) -> Result<()> {
        self.run("DELETE FROM desk_logins WHERE expires_at <= ?1", params![time::write(now)])?;
        insert!(self.run into desk_logins {
            digest: login.digest, who: login.who, created_at: time::write(now),
            expires_at: time::write(login.expires_at)
        })
    }

    /// Removes a login.
    pub fn remove_login(&self, digest: &str) -> Result<()> {
        self.run("DELETE FROM desk_logins WHERE digest = ?1", params![digest])
    }
}

impl Ledger {
    /// Does what the hooks of a call do, and takes it back: an error says why the ledger cannot be read and written. Only the time
    /// of this check stays in a file, and nothing on a server. A ledger that does not exist is created under another name and
    /// removed.
    pub fn check_writing(location: &Location) -> Result<()> {
        let path = location.file().filter(|path| path.symlink_metadata().is_err());
        let Some(Ok(folder)) = path.map(|path| tempfile::tempdir_in(folder_of(path))) else {
            // Without a folder to write to, this states why a hook cannot create the ledger.
            return Self::check_existing(location);
        };
        let created = Self::check_existing(&Location::from(&folder.path().join("new.db")));
        created.map_err(|error| error.at(&location.place))
    }

    fn check_existing(location: &Location) -> Result<()> {
        let mut ledger = Self::open_briefly(location)?;
        let change = ledger.change_in(Scope::Of { budgets: &[], call: None })?;
        let now = change.now(Utc::now());
        let call = CallId { session: Some("opsctl doctor"), tool_use: Some("check") };
        let key = BudgetKey { service: "opsctl doctor".to_owned(), kind: "restart" };
        let attempt = [Reservation { key, verb: Verb::Restart, host: None, counts: true }];
        change.execute_batch("SAVEPOINT attempt")?;
        change.reserve(call, &attempt, now)?;
        change.settle(call, "attempt", &attempt, &ToolResult::Succeeded, None, now)?;
        change.note_decision(&NewDecision { call, verdict: "allow", ..NewDecision::default() }, now)?;
        change.note_time("doctor", Duration::ZERO, now)?;
        let event = NewEvent { level: Level::Info, service: None, message: "attempt".to_owned() };
        change.add_event(call.session, &event, now)?;
        change.execute_batch("ROLLBACK TO SAVEPOINT attempt")?;
        if change.is_server() {
            return Ok(());
        }
        let sql = "INSERT INTO desk_check (id, checked_at) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET checked_at = ?1";
        change.run(sql, params![time::write(now)])?;
        change.commit()
    }

    /// The login of this digest, unless it has expired.
    pub fn login(&self, digest: &str, now: DateTime<Utc>) -> Result<Option<Login>> {
        self.query_row(
            "SELECT who, expires_at FROM desk_logins WHERE digest = ?1 AND expires_at > ?2",
            params![digest, &time::write(now)],
            |row| {
                let expires_at = time::read(&row.get::<String>(1)?).unwrap_or(now);
                Ok(Login { digest: digest.to_owned(), who: row.get(0)?, expires_at })
            },
        )
        .optional()
    }

    /// The path of the log of a session that `opsctl session` ran.
    pub fn log_of(&self, session: &str) -> Result<Option<String>> {
        let log = "SELECT log_path FROM client_runs WHERE session_id = ?1 AND log_path IS NOT NULL
             ORDER BY id DESC LIMIT 1";
        self.query_row(log, params![session], |row| row.get(0)).optional()
    }

    /// A number that differs after another connection has changed the ledger.
    pub fn data_version(&self) -> Result<i64> {
        // On a server, the number of the next transaction: any change of the database may be one of the ledger.
        let version = if self.is_server() {
            "SELECT CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT) AS BIGINT)"
        } else {
            "PRAGMA data_version"
        };
        self.query_row(version, &[], |row| row.get(0))
    }
}

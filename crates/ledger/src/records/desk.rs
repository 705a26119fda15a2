//! The `desk_logins` table: logins at the desk. And what else the desk asks: whether the ledger can be written, whether it
//! has changed.

use chrono::{DateTime, Utc};

use crate::engine::{OptionalExtension as _, Result, insert, params};
use crate::file::database::{Change, Ledger};
use crate::location::Location;
use crate::time;

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
    /// Writes the time of this check: an error says why the ledger cannot be read and written.
    pub fn check_writing(location: &Location) -> Result<()> {
        let sql = "INSERT INTO desk_check (id, checked_at) VALUES (1, ?1)
             ON CONFLICT (id) DO UPDATE SET checked_at = ?1";
        Self::open_briefly(location)?
            .write_with(|change| change.run(sql, params![time::write(change.now(Utc::now()))]))
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

//! Reading a ledger, which may not exist or be of an older release: a read-only connection does not migrate.

use super::database::Ledger;
use super::engine::address::Location;
use super::engine::{self, Connection};
use super::error::LedgerError;
use super::migrate;

impl Ledger {
    /// What `look` finds in the ledger at this location; nothing if it does not exist.
    pub fn read_at<T: Default>(
        location: &Location,
        look: impl FnOnce(&Self) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        Self::open_existing(location)?.as_ref().map_or_else(|| Ok(T::default()), look)
    }

    /// What `look` finds; nothing in a ledger of an older release.
    pub(super) fn read<T: Default>(
        &self,
        look: impl FnOnce(&Connection) -> engine::Result<T>,
    ) -> Result<T, LedgerError> {
        self.read_if(migrate::is_latest(&self.connection), look)
    }

    /// What `look` finds; nothing in a database without this table.
    pub(super) fn read_from<T: Default>(
        &self,
        table: &str,
        look: impl FnOnce(&Connection) -> engine::Result<T>,
    ) -> Result<T, LedgerError> {
        self.read_if(migrate::has_table(&self.connection, table), look)
    }

    fn read_if<T: Default>(
        &self,
        is_there: engine::Result<bool>,
        look: impl FnOnce(&Connection) -> engine::Result<T>,
    ) -> Result<T, LedgerError> {
        let found = is_there.and_then(|it_is| if it_is { look(&self.connection) } else { Ok(T::default()) });
        found.map_err(|cause| self.error(cause))
    }
}

//! Names of services on the command line.

use super::output::complain;
use crate::inventory::nearest::nearest;
use crate::model::inventory::Inventory;

/// The service that is meant, by any of its names. One that `hosts.yaml` does not list may have a history all the same,
/// so what looks like a slip is remarked on and nothing more.
pub fn meant(inventory: &Inventory, written: &str) -> String {
    let service = inventory.service_named(written);
    let listed = || inventory.services.iter().map(|service| service.name.as_str());
    if listed().all(|name| name != service)
        && let Some(near) = nearest(written, listed())
    {
        complain(format_args!("no service `{written}` in hosts.yaml; did you mean `{near}`?"));
    }
    service
}

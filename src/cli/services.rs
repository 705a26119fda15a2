//! Names of services in arguments.

use super::output::complain;
use crate::inventory::nearest::nearest;
use crate::model::inventory::Inventory;
use crate::redact;

/// The name of the service with this name or part. An unknown name is returned unchanged, because it may be in the ledger;
/// if it is similar to a known one, a warning is printed.
pub fn meant(inventory: &Inventory, written: &str) -> String {
    let service = redact::name(&inventory.service_named(written)).into_owned();
    let listed = || inventory.services.iter().map(|service| service.name.as_str());
    if listed().all(|name| name != service)
        && let Some(near) = nearest(written, listed())
    {
        complain(format_args!("no service `{written}` in hosts.yaml; did you mean `{near}`?"));
    }
    service
}

//! Names of services in arguments.

use crate::machine::environment::Environment;
use crate::verbs::terminal::Failure;
use opsctl_ledger::Ledger;
use opsctl_ledger::cooldown::cooldown_file::CooldownFile;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::targets::nearest::nearest;

/// The kinds of actions that have a budget.
pub const KINDS: [&str; 2] = ["restart", "redeployment"];

/// The kind of this name.
pub fn kind(name: &str) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| *kind == name)
}

/// The service that an argument selects, if there is one.
pub fn asked(
    environment: &Environment,
    inventory: &Inventory,
    written: Option<&str>,
) -> Result<Option<String>, Failure> {
    let known = |name| known(environment, inventory, name, "see `opsctl cooldown` for all names");
    written.map(known).transpose()
}

/// The name of the service with this name or part; another name unchanged.
pub fn meant(inventory: &Inventory, written: &str) -> String {
    opsctl_redact::name(&inventory.service_named(written)).into_owned()
}

/// The name of the service with this name or part, or a name with a history. Any other name is an error, unless
/// `hosts.yaml` lists no services. `remedy` states what else to do than to correct the name.
pub fn known(
    environment: &Environment,
    inventory: &Inventory,
    written: &str,
    remedy: &str,
) -> Result<String, Failure> {
    let service = meant(inventory, written);
    let listed = || inventory.services.iter().map(|service| service.name.as_str());
    let is_listed = listed().any(|name| name == service);
    if is_listed || inventory.services.is_empty() || has_history(environment, inventory, &service)? {
        return Ok(service);
    }
    let near = nearest(written, listed()).map(|near| format!("did you mean `{near}`?"));
    let remedy = near.map_or_else(|| remedy.to_owned(), |near| format!("{near} Otherwise, {remedy}"));
    Err(Failure::new(format!("no service `{written}` in hosts.yaml; {remedy}")))
}

/// Whether the ledger or `cooldown.json` contains this name.
fn has_history(environment: &Environment, inventory: &Inventory, service: &str) -> Result<bool, Failure> {
    // A file that cannot be read is reported where it is used.
    let file = CooldownFile::read(&environment.cooldown_file()).unwrap_or_default().by_service(inventory);
    if file.services().any(|name| name == service) {
        return Ok(true);
    }
    Ok(Ledger::read_at(&environment.ledger, |ledger| ledger.knows_service(service))?)
}

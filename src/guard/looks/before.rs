//! The states before the actions of a call, for the audit. What returns to them is never run.

use crate::guard::acting::ActingCall;
use crate::machine::request::Request;
use opsctl_policy::decide::Snapshot;
use opsctl_policy::model::records::verdict::{ResolvedAction, Verdict};
use opsctl_probe::before::{Asked, is_known, look};
use opsctl_probe::health::Way;
use opsctl_reader::terms::action::Target;

/// Looks at the states before actions that change one, if the rules allow the call. It waits for tools for a few seconds at most.
pub fn note(acting: &mut ActingCall<'_>, request: &Request) {
    let wanted = |action: &&ResolvedAction| is_known(&action.action.evidence, action.action.verb.as_str());
    let actions: Vec<&ResolvedAction> = acting.actions.iter().filter(wanted).collect();
    // With a guard, that looks.
    if actions.is_empty() || request.guard.is_some() || request.dry_run {
        return;
    }
    if acting.by_rules(&Snapshot::new(), acting.now).verdict != Verdict::Silent {
        return;
    }
    let inventory = &acting.installation.inventory;
    let asked = actions.iter().map(|action| {
        let listed = |name: &str| inventory.hosts.iter().find(|host| host.name == name);
        let of_service = || {
            let service = inventory.services.iter().find(|own| action.service.as_ref() == Some(&own.name));
            service.and_then(|service| service.host.as_deref())
        };
        let host = action.host.as_deref().or_else(of_service);
        let namespace = match &action.action.target {
            Target::Workload(workload) => workload.namespace.clone(),
            _ => None,
        };
        // A host that is not listed is not asked.
        let way =
            host.map_or_else(|| Some(Way::default()), |host| listed(host).map(|host| Way::to(Some(host))));
        way.map(|way| Asked {
            command: action.action.evidence.clone(),
            verb: action.action.verb.as_str(),
            namespace,
            way,
        })
    });
    let (places, asked): (Vec<usize>, Vec<Asked>) =
        asked.enumerate().filter_map(|(place, asked)| asked.map(|asked| (place, asked))).unzip();
    let found = places
        .into_iter()
        .zip(look(asked))
        .filter_map(|(place, before)| Some((actions.get(place)?, before?)));
    let lines = found.map(|(action, before)| {
        let what = action.service.as_deref().or_else(|| action.action.target.name()).unwrap_or("the target");
        let host = action.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
        format!("{what}{host} was: {}; to return: {}", before.state, before.undo)
    });
    acting.before = lines.collect::<Vec<_>>().join("\n");
}

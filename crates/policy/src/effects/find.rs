//! The expression of `find`.

use super::options::fits;
use super::proof::{Proof, READS};
use super::reason::Why;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::EffectTerms;
use opsctl_reader::terms::effect::Effect;

/// The effect of an expression of `find`. What `-exec` runs stands below it in the tree, the files that it writes are
/// judged elsewhere.
pub fn effect(
    usage: &Usage,
    terms: &EffectTerms,
    texts: &[&str],
    is_scratch: &dyn Fn(&str) -> bool,
) -> Proof {
    let expression = usage.expression(texts);
    let is_own = |at: &usize| texts.get(*at).is_some_and(|place| is_scratch(place));
    let follows_links = texts.iter().any(|text| matches!(*text, "-L" | "-H" | "-follow"));
    let removes_own = !expression.places.is_empty() && expression.places.iter().all(is_own) && !follows_links;
    if expression.changes && !removes_own {
        return (
            Effect::Changes,
            Why::Option(terms.changes_with.first().copied().unwrap_or_default().to_owned()),
        );
    }
    let inputs = usage.files().inputs;
    let from_file = expression.tests.iter().map(|(option, _)| *option).find(|option| inputs.contains(option));
    let flags = terms.flags.unwrap_or_default();
    let unlisted = expression.flags.iter().copied().find(|flag| !fits(flag, &flags));
    match from_file.or(unlisted) {
        Some(option) => (Effect::Unknown, Why::UnknownOption(option.to_owned())),
        None => READS,
    }
}

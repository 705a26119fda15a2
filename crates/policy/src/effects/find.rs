//! The expression of `find`.

use super::options::fits;
use super::proof::Proof;
use super::reason::Why;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::EffectTerms;
use opsctl_reader::terms::effect::Effect;

/// The effect of an expression of `find`. What `-exec` runs stands below it in the tree, the files that it writes are
/// judged elsewhere.
pub fn effect(usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> Proof {
    let expression = usage.expression(texts);
    if expression.changes {
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
        None => (Effect::Reads, Why::Stated),
    }
}

#[cfg(test)]
mod tests {
    use super::effect;
    use opsctl_reader::catalogue::Catalogue;
    use opsctl_reader::terms::effect::Effect;

    #[test]
    fn an_expression_is_read_word_by_word() {
        let of = |line: &str| {
            let texts: Vec<&str> = line.split(' ').collect();
            let usage = Catalogue::default().usage(&texts, &|_| false).unwrap();
            effect(&usage, &usage.form.effect.unwrap(), &texts).0
        };
        for line in [
            "find /srv -xdev ( -name *.log -o -size +1G ) ! -newer /x -printf %p",
            "find . -name -delete -print",
            "find -maxdepth 1 -type f -exec ls -l {} + -quit",
            "find /x -exec grep -delete {} ;",
        ] {
            assert_eq!(of(line), Effect::Reads, "{line}");
        }
        assert_eq!(of("find /srv -mtime +3 -delete"), Effect::Changes);
        assert_eq!(of("find /srv -exec ls {} ; -delete"), Effect::Changes);
        assert_eq!(of("find /srv -name x -remove"), Effect::Unknown);
    }
}

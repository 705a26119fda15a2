//! A command of plain words, such as `docker inspect -f '{{.State}}' jellyfin`, without the parser: most commands and
//! substitutions are no more, and the parser takes ten times as long.

use brush_parser::ast::{
    AndOrList, Command, CommandPrefixOrSuffixItem, CommandSuffix, CompoundList, CompoundListItem, Pipeline,
    Program, SeparatorOperator, SimpleCommand, Word,
};

use crate::languages::names::shell;

/// The command that the parser would find; `None` for any text that is not surely plain words.
pub(super) fn plain(text: &str) -> Option<Program> {
    let mut words = words(text)?.into_iter();
    let name = words.next().filter(|name| !shell::RESERVED.has(name) && !name.contains('='))?;
    let word = |text: &str| Word { value: text.to_owned(), loc: None };
    let suffix: Vec<_> = words.map(|text| CommandPrefixOrSuffixItem::Word(word(text))).collect();
    let command = SimpleCommand {
        prefix: None,
        word_or_name: Some(word(name)),
        suffix: (!suffix.is_empty()).then_some(CommandSuffix(suffix)),
    };
    let pipeline = Pipeline { timed: None, bang: false, seq: vec![Command::Simple(command)] };
    let list = AndOrList { first: pipeline, additional: vec![] };
    let item = CompoundListItem(list, SeparatorOperator::Sequence);
    Some(Program { complete_commands: vec![CompoundList(vec![item])] })
}

/// The words, between spaces. They consist of plain characters and of text in quotes without substitutions. One with `=` is
/// an option, not an assignment.
fn words(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let (mut start, mut quote) = (None, None);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (Some(b'"'), b'$' | b'`' | b'\\' | b'!') => return None,
            (Some(_), b' '..=b'~') => {}
            (None, b' ') => words.extend(start.take().and_then(|start| text.get(start..at))),
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                start = start.or(Some(at));
            }
            (None, b'=') if start.is_some_and(|start| text.as_bytes().get(start) == Some(&b'-')) => {}
            (None, byte) if byte.is_ascii_alphanumeric() || b"-_./:,+@%".contains(&byte) => {
                start = start.or(Some(at));
            }
            _ => return None,
        }
    }
    words.extend(start.and_then(|start| text.get(start..)));
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::super::parse::parsed;
    use super::plain;
    use proptest::prelude::*;

    /// The command as plain words, and as the parser finds it.
    fn both(text: &str) -> (Option<String>, String) {
        let parsed = parsed(text, &mut Vec::new()).unwrap_or_else(|error| panic!("{text}: {error}"));
        (
            plain(text).map(|program| without_places(&format!("{program:?}"))),
            without_places(&format!("{parsed:?}")),
        )
    }

    /// The syntax tree without the places of words in the text.
    fn without_places(tree: &str) -> String {
        let mut parts = tree.split("loc: Some(SourceSpan {");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |tree, part| {
            let (_, after) = part.split_once(" } })").unwrap();
            tree + "loc: None" + after
        })
    }

    #[test]
    fn plain_words_are_what_the_parser_finds_and_other_text_is_left_to_it() {
        crate::languages::cases::check_rows("grammar", "plain", |text| {
            if plain(text).is_some() {
                let (plain, parsed) = both(text);
                assert_eq!(plain, Some(parsed), "{text}");
            }
            plain(text).is_some().to_string()
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]
        #[test]
        fn plain_text_is_read_as_the_parser_reads_it(text in r#"(if |time |in |-a=b |a=b |'[a;$ ]*' ?|"[a;' ]*" ?|[a-c.:,+@%/=_ -]{1,3}|[0-9{}~!$]){1,6}"#) {
            if plain(&text).is_some() {
                let (plain, parsed) = both(&text);
                prop_assert_eq!(plain, Some(parsed));
            }
        }
    }
}

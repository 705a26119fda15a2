//! "Did you mean": the nearest right word.

/// The candidate that `word` was most likely meant to be, if any is close enough to be worth offering.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            // A third of the letters may be wrong, and one or two letters in short names.
            *distance <= (candidate.chars().count().max(word.chars().count()) / 3).max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_typo_finds_its_word_and_nonsense_finds_none() {
        let keys = ["address", "ssh", "containers", "playbooks"];
        assert_eq!(nearest("adress", keys), Some("address"));
        assert_eq!(nearest("SSH", keys), Some("ssh"));
        assert_eq!(nearest("container", keys), Some("containers"));
        assert_eq!(nearest("ip", keys), None);
    }
}

//! Signed links to a question, for notifications. A link shows its question and lets its reader answer it, without a login.
//!
//! A link is bound to one question, which can be answered once: the first answer uses up the link. A GET request answers
//! nothing, because chat programs and mail filters open the links of messages.

use chrono::{DateTime, TimeDelta, Utc};
use data_encoding::HEXLOWER;

use super::desk_key::DeskKey;
use opsctl_policy::model::records::question::Question;

/// The purpose of the signature.
const PURPOSE: &str = "opsctl question link 1";

/// A link shows the outcome for this time after its question has expired.
const SHOWS_OUTCOME: TimeDelta = TimeDelta::days(1);

/// The token of the links to a question, in hexadecimal: some targets render Markdown, to which other characters may mean
/// emphasis.
pub fn token(key: &DeskKey, question: &Question) -> String {
    let until = (question.expires_at + SHOWS_OUTCOME).timestamp();
    let signature = with_fields(question, until, |fields| key.sign(PURPOSE, fields));
    HEXLOWER.encode(&[&until.to_be_bytes()[..], &signature].concat())
}

/// The address of a question at the desk with this URL.
pub fn address(desk: &str, key: &DeskKey, question: &Question) -> String {
    format!("{}/q/{}?t={}", desk.trim_end_matches('/'), question.id, token(key, question))
}

/// Whether a token belongs to this question and has not expired.
pub fn is_valid(key: &DeskKey, question: &Question, token: &str, now: DateTime<Utc>) -> bool {
    let Ok(bytes) = HEXLOWER.decode(token.as_bytes()) else { return false };
    let Some((until, signature)) = bytes.split_first_chunk() else { return false };
    let until = i64::from_be_bytes(*until);
    let is_signed = with_fields(question, until, |fields| key.verifies(PURPOSE, fields, signature));
    is_signed && until > now.timestamp()
}

/// Signs or verifies what a link covers that ends at `until`, in seconds since 1970. The number of a question alone may
/// return in another ledger.
fn with_fields<T>(question: &Question, until: i64, work: impl FnOnce(&[&[u8]]) -> T) -> T {
    let Question { id, session, call, digest, .. } = question;
    work(&[&id.to_be_bytes(), session.as_bytes(), call.as_bytes(), digest.as_bytes(), &until.to_be_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::approval::desk_key::LENGTH;

    #[test]
    fn a_link_is_valid_for_its_question_and_key_until_a_day_after_it_expired() {
        let (key, question) = (DeskKey::of_bytes(&[1; LENGTH]), Question::example());
        let token = token(&key, &question);
        for (now, valid) in
            [("2026-03-21T14:30:00Z", true), ("2026-03-22T14:59:59Z", true), ("2026-03-22T15:00:00Z", false)]
        {
            assert_eq!(is_valid(&key, &question, &token, now.parse().unwrap()), valid, "{now}");
        }
        let now = "2026-03-21T14:30:00Z".parse().unwrap();
        for other in [
            Question { id: 8, ..Question::example() },
            Question { session: "t".into(), ..Question::example() },
            Question { call: "x".into(), ..Question::example() },
            Question { digest: "d2".into(), ..Question::example() },
        ] {
            assert!(!is_valid(&key, &other, &token, now), "{other:?}");
        }
        assert!(!is_valid(&DeskKey::of_bytes(&[2; LENGTH]), &question, &token, now));
        let bytes = HEXLOWER.decode(token.as_bytes()).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(!is_valid(&key, &question, &HEXLOWER.encode(&changed), now), "byte {at}");
        }
        for broken in ["", "a", "===", &token[1..], &token[..token.len() - 4], &format!("{token}AA")] {
            assert!(!is_valid(&key, &question, broken, now), "{broken}");
        }
        let address = address("https://desk.example/", &key, &question);
        assert_eq!(address, format!("https://desk.example/q/7?t={token}"));
        // Redaction does not touch it.
        assert_eq!(opsctl_redact::text(&address), address);
    }
}

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
    let signature = key.sign(PURPOSE, &Fields::of(question, until).all());
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
    key.verifies(PURPOSE, &Fields::of(question, until).all(), signature) && until > now.timestamp()
}

/// What the signature covers: the number alone may return in another ledger.
struct Fields<'a> {
    id: [u8; 8],
    question: &'a Question,
    until: [u8; 8],
}

impl<'a> Fields<'a> {
    /// The fields of a link that ends at `until`, in seconds since 1970.
    fn of(question: &'a Question, until: i64) -> Self {
        Self { id: question.id.to_be_bytes(), question, until: until.to_be_bytes() }
    }

    fn all(&self) -> [&[u8]; 5] {
        let Question { session, call, digest, .. } = self.question;
        [&self.id, session.as_bytes(), call.as_bytes(), digest.as_bytes(), &self.until]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::approval::desk_key::LENGTH;

    #[test]
    fn a_link_is_valid_for_its_question_until_a_day_after_it_expired() {
        let key = DeskKey::of_bytes(&[1; LENGTH]);
        let token = token(&key, &Question::example());
        let at = |time: &str| time.parse().unwrap();
        assert!(is_valid(&key, &Question::example(), &token, at("2026-03-21T14:30:00Z")));
        assert!(is_valid(&key, &Question::example(), &token, at("2026-03-22T14:59:59Z")));
        assert!(!is_valid(&key, &Question::example(), &token, at("2026-03-22T15:00:00Z")));
        assert_eq!(
            address("https://desk.example/", &key, &Question::example()),
            format!("https://desk.example/q/7?t={token}")
        );
    }

    #[test]
    fn no_other_question_key_or_time_has_this_token() {
        let key = DeskKey::of_bytes(&[1; LENGTH]);
        let token = token(&key, &Question::example());
        let now = "2026-03-21T14:30:00Z".parse().unwrap();
        for other in [
            Question { id: 8, ..Question::example() },
            Question { session: "t".into(), ..Question::example() },
            Question { call: "x".into(), ..Question::example() },
            Question { digest: "d2".into(), ..Question::example() },
        ] {
            assert!(!is_valid(&key, &other, &token, now), "{other:?}");
        }
        assert!(!is_valid(&DeskKey::of_bytes(&[2; LENGTH]), &Question::example(), &token, now));
        let bytes = HEXLOWER.decode(token.as_bytes()).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(!is_valid(&key, &Question::example(), &HEXLOWER.encode(&changed), now), "byte {at}");
        }
        for broken in ["", "a", "===", &token[1..], &token[..token.len() - 4], &format!("{token}AA")] {
            assert!(!is_valid(&key, &Question::example(), broken, now), "{broken}");
        }
    }

    #[test]
    fn redaction_does_not_touch_a_link() {
        let key = DeskKey::of_bytes(&[1; LENGTH]);
        let text = format!("Answer at {}", address("https://desk.example", &key, &Question::example()));
        assert_eq!(opsctl_redact::text(&text), text);
    }
}

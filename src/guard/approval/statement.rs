//! What a person signs: the canonical bytes of an answer and of a grant.
//!
//! The bytes begin with a name and version of the format; each field follows with its length, so that no two statements
//! have the same bytes.

use chrono::{DateTime, Utc};
use data_encoding::BASE64;
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};

use opsctl_policy::model::records::question::{AskedCall, Grant, SignedAnswer};
use opsctl_policy::model::rights::public_key::PublicKey;

const ANSWER: &str = "opsctl-answer-v1";
const GRANT: &str = "opsctl-grant-v1";
const HOST_POLICY: &str = "opsctl-host-policy-v1";

/// The bytes of an answer to a question about this call: all that the person was shown of the call, and all of the answer
/// but its signature.
fn answer_bytes(call: &AskedCall, answer: &SignedAnswer) -> Vec<u8> {
    let mut bytes = Bytes::of(ANSWER);
    bytes.number(answer.question);
    bytes.text(&call.session);
    bytes.text(&call.call);
    bytes.text(&call.digest);
    bytes.text(&call.command);
    bytes.texts(&call.actions);
    bytes.option(call.service.as_deref());
    bytes.text(answer.answer.as_str());
    bytes.text(&answer.by);
    bytes.number(answer.at.timestamp());
    bytes.number(answer.expires_at.timestamp());
    bytes.option(answer.note.as_deref());
    bytes.0
}

/// The bytes of a grant: all of it but what is used, and its signature.
fn grant_bytes(grant: &Grant) -> Vec<u8> {
    let mut bytes = Bytes::of(GRANT);
    bytes.number(grant.id);
    bytes.text(&grant.service);
    bytes.text(&grant.kind);
    bytes.number(i64::from(grant.count));
    bytes.text(&grant.by);
    bytes.number(grant.at.timestamp());
    bytes.number(grant.expires_at.timestamp());
    bytes.option(grant.note.as_deref());
    bytes.0
}

/// The bytes of the policy of a host: the host, the time of the signature, and the texts of its files.
fn policy_bytes(host: &str, issued: DateTime<Utc>, files: &[String]) -> Vec<u8> {
    let mut bytes = Bytes::of(HOST_POLICY);
    bytes.text(host);
    bytes.number(issued.timestamp());
    bytes.texts(files);
    bytes.0
}

/// The signature of the policy of a host.
pub fn sign_policy(key: &Ed25519KeyPair, host: &str, issued: DateTime<Utc>, files: &[String]) -> String {
    BASE64.encode(key.sign(&policy_bytes(host, issued, files)).as_ref())
}

/// Whether a person with the key has signed this policy of a host.
pub fn is_policy_of(
    host: &str,
    issued: DateTime<Utc>,
    files: &[String],
    signature: &str,
    key: PublicKey,
) -> bool {
    verify(&policy_bytes(host, issued, files), signature, key)
}

/// The signature of an answer to a question about this call.
pub fn sign_answer(key: &Ed25519KeyPair, call: &AskedCall, answer: &SignedAnswer) -> String {
    sign(key, &answer_bytes(call, answer))
}

/// The signature of a grant.
pub fn sign_grant(key: &Ed25519KeyPair, grant: &Grant) -> String {
    sign(key, &grant_bytes(grant))
}

/// Whether a person with the key has given this answer to a question about this call.
pub fn is_answer_to(call: &AskedCall, answer: &SignedAnswer, key: PublicKey) -> bool {
    verify(&answer_bytes(call, answer), &answer.signature, key)
}

/// Whether a person with the key has given this grant.
pub fn is_given(grant: &Grant, key: PublicKey) -> bool {
    verify(&grant_bytes(grant), &grant.signature, key)
}

/// A signature in base64.
pub(super) fn sign(key: &Ed25519KeyPair, bytes: &[u8]) -> String {
    BASE64.encode(key.sign(bytes).as_ref())
}

/// Whether a signature in base64 is that of this key.
pub(super) fn verify(bytes: &[u8], signature: &str, key: PublicKey) -> bool {
    let Ok(signature) = BASE64.decode(signature.as_bytes()) else { return false };
    UnparsedPublicKey::new(&ED25519, key.0).verify(bytes, &signature).is_ok()
}

/// Fields, each after its length.
pub(super) struct Bytes(Vec<u8>);

impl Bytes {
    pub(super) fn of(format: &str) -> Self {
        let mut bytes = Self(vec![]);
        bytes.text(format);
        bytes
    }

    pub(super) fn number(&mut self, number: i64) {
        self.0.extend(number.to_be_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.0.extend((text.len() as u64).to_be_bytes());
        self.0.extend(text.as_bytes());
    }

    /// The bytes.
    pub(super) fn into_inner(self) -> Vec<u8> {
        self.0
    }

    fn texts(&mut self, texts: &[String]) {
        self.0.extend((texts.len() as u64).to_be_bytes());
        for text in texts {
            self.text(text);
        }
    }

    fn option(&mut self, text: Option<&str>) {
        self.0.push(u8::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::guard::approval::key;
    use opsctl_policy::model::records::question::{Answer, Question};

    fn pair() -> (Ed25519KeyPair, PublicKey) {
        let (pair, _) = key::generate().unwrap();
        let public = key::public(&pair);
        (pair, public)
    }

    fn call() -> AskedCall {
        let actions = vec!["docker restart jellyfin".into()];
        AskedCall { actions, service: Some("jellyfin".into()), ..Question::example().asked_call() }
    }

    fn answer() -> SignedAnswer {
        let (by, note, at) = ("ann".into(), Some("once".into()), DateTime::UNIX_EPOCH);
        let (expires_at, signature) = (at + TimeDelta::hours(1), String::new());
        SignedAnswer { question: 7, answer: Answer::Approve, by, at, expires_at, note, signature }
    }

    type Alter = fn(&mut AskedCall, &mut SignedAnswer);

    #[test]
    fn each_field_of_an_answer_is_signed_with_the_key() {
        let ((pair, public), (_, other)) = (self::pair(), self::pair());
        let mut signed = answer();
        signed.signature = sign_answer(&pair, &call(), &signed);
        assert!(is_answer_to(&call(), &signed, public));
        assert!(!is_answer_to(&call(), &signed, other));
        for broken in ["", "AAAA", "not base64", &signed.signature[..80]] {
            let answer = SignedAnswer { signature: broken.to_owned(), ..signed.clone() };
            assert!(!is_answer_to(&call(), &answer, public), "{broken}");
        }
        let alterations: [(&str, Alter); 15] = [
            ("question", |_, answer| answer.question += 1),
            ("answer", |_, answer| answer.answer = Answer::Refuse),
            ("by", |_, answer| answer.by = "eve".into()),
            ("at", |_, answer| answer.at += TimeDelta::seconds(1)),
            ("expires_at", |_, answer| answer.expires_at += TimeDelta::seconds(1)),
            ("note", |_, answer| answer.note = Some("twice".into())),
            ("no note", |_, answer| answer.note = None),
            ("session", |call, _| call.session = "s2".into()),
            ("call", |call, _| call.call = "toolu_2".into()),
            ("digest", |call, _| call.digest = "ac".repeat(32)),
            ("command", |call, _| call.command = "docker restart sonarr".into()),
            ("actions", |call, _| call.actions.push("docker restart sonarr".into())),
            ("no actions", |call, _| call.actions.clear()),
            ("service", |call, _| call.service = Some("sonarr".into())),
            ("no service", |call, _| call.service = None),
        ];
        for (name, alter) in alterations {
            let (mut call, mut answer) = (call(), signed.clone());
            alter(&mut call, &mut answer);
            assert!(!is_answer_to(&call, &answer, public), "{name}");
        }
    }

    #[test]
    fn each_field_of_a_grant_is_signed() {
        let (pair, public) = pair();
        let SignedAnswer { by, at, expires_at, signature, .. } = answer();
        let (service, kind) = ("jellyfin".into(), "restart".into());
        let mut grant =
            Grant { id: 3, service, kind, count: 1, used: 0, by, at, expires_at, note: None, signature };
        grant.signature = sign_grant(&pair, &grant);
        assert!(is_given(&Grant { used: 1, ..grant.clone() }, public));
        let alterations: [fn(&mut Grant); 8] = [
            |grant| grant.id = 4,
            |grant| grant.service = "sonarr".into(),
            |grant| grant.kind = "redeployment".into(),
            |grant| grant.count = 2,
            |grant| grant.by = "eve".into(),
            |grant| grant.at += TimeDelta::seconds(1),
            |grant| grant.expires_at += TimeDelta::hours(1),
            |grant| grant.note = Some(String::new()),
        ];
        for alter in alterations {
            let mut altered = grant.clone();
            alter(&mut altered);
            assert!(!is_given(&altered, public), "{altered:?}");
        }
    }

    proptest! {
        /// Two different statements never have the same bytes.
        #[test]
        fn no_two_calls_have_the_same_bytes(
            one in (".{0,6}", ".{0,6}", ".{0,6}", vec(".{0,4}", 0..3), option::of(".{0,4}")),
            other in (".{0,6}", ".{0,6}", ".{0,6}", vec(".{0,4}", 0..3), option::of(".{0,4}")),
        ) {
            let bytes = |parts: &(String, String, String, Vec<String>, Option<String>)| {
                let (session, call, command, actions, service) = parts.clone();
                let call = AskedCall { session, call, digest: String::new(), command, actions, service };
                answer_bytes(&call, &answer())
            };
            prop_assert_eq!(one == other, bytes(&one) == bytes(&other));
        }
    }
}

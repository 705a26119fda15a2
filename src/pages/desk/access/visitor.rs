//! A person who uses the desk, and the token of their forms.

use crate::guard::approval::desk_key::{DeskKey, encoded};

/// The purpose of the signature in forms.
const FORM: &str = "opsctl desk form 1";

/// A person who is logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// The name that is recorded with answers.
    pub who: String,
    /// SHA-256 of the cookie in hexadecimal; `None` if a reverse proxy has logged them in.
    pub login: Option<String>,
}

impl Visitor {
    /// The token that forms of this visitor contain.
    pub fn form_token(&self, key: &DeskKey) -> String {
        encoded(&key.sign(FORM, &self.fields()))
    }

    /// Whether a form contains the token of this visitor.
    pub fn owns_form(&self, key: &DeskKey, token: &str) -> bool {
        let token = data_encoding::HEXLOWER.decode(token.as_bytes());
        token.is_ok_and(|token| key.verifies(FORM, &self.fields(), &token))
    }

    fn fields(&self) -> [&[u8]; 2] {
        match &self.login {
            Some(digest) => [b"cookie", digest.as_bytes()],
            None => [b"user", self.who.as_bytes()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::approval::desk_key::LENGTH;

    #[test]
    fn a_form_belongs_to_one_login() {
        let key = DeskKey::of_bytes(&[1; LENGTH]);
        let visitor =
            |who: &str, login: Option<&str>| Visitor { who: who.into(), login: login.map(Into::into) };
        let token = visitor("desk", Some("a")).form_token(&key);
        assert!(visitor("desk", Some("a")).owns_form(&key, &token));
        for other in [visitor("desk", Some("b")), visitor("a", None), visitor("desk", None)] {
            assert!(!other.owns_form(&key, &token), "{other:?}");
        }
        assert!(!visitor("desk", Some("a")).owns_form(&key, ""));
        assert!(!visitor("desk", Some("a")).owns_form(&key, &token[2..]));
    }
}

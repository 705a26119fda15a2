//! `opsctl audit verify` and `audit sign`: whether the audit has been altered, and a signed statement of its end.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::guard::approval::signed_head;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{
    FAILED, Failure, OK, complain, environment_in_force, person, print, print_json, progress,
};
use opsctl_ledger::Ledger;
use opsctl_ledger::records::chain::{Checked, Head};

/// Check that no decision of the audit was changed, removed, added or moved
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl audit verify
  opsctl audit verify --head head.json     # from `opsctl audit sign`, or kept from a digest

Exit code 1: the first decision that does not fit is named. Who can write the whole ledger can also write a new chain: a head
that is kept elsewhere shows that.")]
pub struct VerifyArgs {
    /// A head of an earlier time, which must be part of the audit; `-` reads it from stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    head: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Print the end of the audit, signed with the key of answers
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl audit sign >head.json
  opsctl audit verify --head head.json

Keep it where neither the agent nor the guard can change it.")]
pub struct SignArgs {}

/// The facts of the verbs.
pub const FACTS: [Facts; 2] = [
    Facts::reads("audit verify").in_guard(&[]).with_ledger(),
    Facts::operator("audit sign").on_guards_side().with_ledger().with_keys(),
];

/// A signed end of the audit.
#[derive(Debug, Serialize, Deserialize)]
struct SignedHead {
    #[serde(flatten)]
    head: Head,
    #[serde(default)]
    at: Option<DateTime<Utc>>,
    #[serde(default)]
    signature: Option<String>,
}

/// Runs `audit verify`.
pub fn verify(args: &VerifyArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let known = args.head.as_ref().map(|path| known(path, &environment)).transpose()?;
    let Some(ledger) = Ledger::open_existing(&environment.ledger)? else {
        return Err(Failure::new(format!("no ledger at {}; nothing can be verified", environment.ledger)));
    };
    let Checked { rows, head, broken } = progress::steps(|show| {
        ledger.check_chain(known.as_ref(), |rows| show(format!("{rows} decisions verified")))
    })?;
    if args.json {
        print_json(
            &json!({ "rows": rows, "head": head, "broken": broken.as_ref().map(ToString::to_string) }),
        )?;
    } else if broken.is_none() {
        print(&format!("{rows} decisions verified\nhead: {} {}\n", head.entries, head.hash));
    }
    Ok(match broken {
        None => OK,
        Some(broken) => {
            complain(format_args!(
                "the audit has been altered: {broken}; the {rows} decisions before it fit"
            ));
            FAILED
        }
    })
}

/// The head in a file. A signature in it must be that of the policy's key.
fn known(path: &PathBuf, environment: &Environment) -> Result<Head, Failure> {
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)?;
        bytes
    } else {
        std::fs::read(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?
    };
    let SignedHead { head, at, signature } = serde_json::from_slice(&bytes).map_err(|error| {
        Failure::new(format!("{} is no head of `opsctl audit sign` ({error})", path.display()))
    })?;
    let key = installation::in_force(environment, &mut vec![]).installation.policy.approval_key;
    match (signature, at, key) {
        (None, ..) => Ok(head),
        (Some(signature), Some(at), Some(key)) if signed_head::is_genuine(&head, at, &signature, key) => {
            Ok(head)
        }
        (Some(_), _, None) => {
            Err(Failure::new("its signature cannot be checked: hosts.yaml states no `approval_key`"))
        }
        (Some(_), ..) => Err(Failure::new(format!(
            "the signature of {} is not that of `approval_key` of hosts.yaml",
            path.display()
        ))),
    }
}

/// Runs `audit sign`.
pub fn sign(_: &SignArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    person::at_terminal(&environment)?;
    let head = Ledger::open_existing(&environment.ledger)?.map(|ledger| ledger.audit_head()).transpose()?;
    let Some(head) = head else {
        return Err(Failure::new(format!("no ledger at {}; nothing can be signed", environment.ledger)));
    };
    let at = Utc::now();
    let signature = Some(signed_head::sign(&head, at, &environment)?);
    print_json(&SignedHead { head, at: Some(at), signature })
}

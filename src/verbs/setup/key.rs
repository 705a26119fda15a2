//! `opsctl key`: makes the key pair of answers to questions.

use clap::Args;

use crate::guard::approval::KeyError;
use crate::guard::approval::key::{create, load, public};
use crate::guard::approval::rotation;
use crate::machine::client::own_files;
use crate::machine::environment::Environment;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, complain, person, print};

/// Make the key that signs answers to questions, and print its public part for hosts.yaml
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl key            # approval.key in the state folder
  CLAUDEOPS_APPROVAL_KEY=/guard/approval.key opsctl key

An existing key is never overwritten; its public part is printed. Keep the file where the agent's user cannot read it.")]
pub struct KeyArgs {}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("key").on_guards_side().with_state()];

/// Runs the verb.
pub fn run(_: &KeyArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    person::at_terminal(&environment)?;
    let path = environment.approval_key_file();
    if environment.state_dir.is_dir() {
        rotation::note(&environment.state_dir, &own_files::answering_keys(&environment))?;
    }
    let pair = match create(&path) {
        Ok(pair) => {
            complain(format_args!(
                "the private key is in {}; the agent's user must not be able to read it",
                path.display()
            ));
            pair
        }
        Err(KeyError::Exists(_)) => load(&path).map_err(crate::guard::approval::ApprovalError::from)?,
        Err(error) => return Err(crate::guard::approval::ApprovalError::from(error).into()),
    };
    let public = public(&pair).to_string();
    print(&format!("approval_key: {public}\n"));
    Ok(OK)
}

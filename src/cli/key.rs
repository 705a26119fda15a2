//! `opsctl key`: makes the key pair of answers to questions.

use clap::Args;

use super::exit_code::OK;
use super::facts::Facts;
use super::failure::Failure;
use super::output::{complain, print};
use super::person;
use crate::approval::KeyError;
use crate::approval::key::{create, load, public};
use crate::approval::rotation;
use crate::runtime::environment::Environment;
use crate::runtime::own_files;

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
        Err(KeyError::Exists(_)) => load(&path).map_err(crate::approval::ApprovalError::from)?,
        Err(error) => return Err(crate::approval::ApprovalError::from(error).into()),
    };
    let public = public(&pair).to_string();
    print(&format!("approval_key: {public}\n"));
    Ok(OK)
}

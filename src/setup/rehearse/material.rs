//! What a rehearsal uses: `rehearsal.yaml`.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;

use super::cast::name;

/// Stand-ins for programs, the environment of the client, and calls that must be denied.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Material {
    /// The programs that are stubs, each with its answer to questions.
    pub stubs: BTreeMap<String, String>,
    /// Further variables of the client.
    pub environment: BTreeMap<String, String>,
    /// Commands that change something and are no action.
    pub changes: Vec<String>,
    /// Always-denied commands, with the rules that deny them.
    pub always_denied: Vec<(String, String)>,
    /// Pushes that overwrite what others rely on, with the rules that deny them.
    pub pushes: Vec<(String, String)>,
    /// Files of the session that hold secrets.
    pub secret_files: Vec<String>,
    /// Endings of variables that hold secrets, with the command that prints one.
    pub secret_variables: Vec<(String, String)>,
}

impl Material {
    /// Reads the file that is built in, with random names.
    pub fn built_in() -> io::Result<Self> {
        let text = include_str!("rehearsal.yaml").replace("{one}", &name()).replace("{other}", &name());
        serde_saphyr::from_str(&text).map_err(io::Error::other)
    }
}

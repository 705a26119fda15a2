//! `opsctl completions` and `opsctl man`.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, print};

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl completions bash > /usr/share/bash-completion/completions/opsctl
  opsctl completions zsh > /usr/local/share/zsh/site-functions/_opsctl
  opsctl completions fish > ~/.config/fish/completions/opsctl.fish")]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Write the manual pages, one per verb
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl man --out /usr/local/share/man/man1
  opsctl man | man -l -                  # the first page")]
pub struct ManArgs {
    /// The output folder; default: print the first page
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The facts of the verbs.
pub const FACTS: &[Facts] = &[Facts::reads("completions"), Facts::reads("man").writes(&["--out"])];

/// Prints the completions.
pub fn completions(args: &CompletionsArgs, mut program: Command) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "opsctl", &mut script);
    print(&*String::from_utf8_lossy(&script));
    OK
}

/// Writes or prints the manual pages.
pub fn man(args: &ManArgs, program: Command) -> Result<u8, Failure> {
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(program, folder))
            .map_err(|error| Failure::unwritable(folder, &error, "name a writable folder with --out"))?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(program).render(&mut page)?;
        print(&*String::from_utf8_lossy(&page));
    }
    Ok(OK)
}

//! `opsctl init`: writes the files of a new installation.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit_code::OK;
use super::failure::Failure;
use super::output::print;

/// The files with their modes. `.env` is going to contain keys.
const FILES: [(&str, &str, u32); 6] = [
    ("hosts.yaml", include_str!("../../templates/starter/hosts.yaml"), 0o644),
    ("hosts.schema.json", include_str!("../../templates/starter/hosts.schema.json"), 0o644),
    ("Dockerfile", include_str!("../../templates/starter/Dockerfile"), 0o644),
    (".dockerignore", include_str!("../../templates/starter/.dockerignore"), 0o644),
    ("compose.yaml", include_str!("../../templates/starter/compose.yaml"), 0o644),
    (".env", include_str!("../../templates/starter/.env.example"), 0o600),
];

/// The file that adds an egress proxy.
const EGRESS: (&str, &str, u32) = ("egress.yaml", include_str!("../../templates/starter/egress.yaml"), 0o644);

/// The line of `.env` that adds the file of the egress proxy.
const COMPOSE_FILE: &str = "COMPOSE_FILE=compose.yaml:egress.yaml\n";

/// Folders that `compose.yaml` mounts.
const FOLDERS: [&str; 2] = ["repos", "ssh"];

/// Write the files of a new installation: hosts.yaml with its JSON Schema, Dockerfile, compose.yaml and .env
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl init homelab
  opsctl init --egress homelab    # with an egress proxy
  docker run --rm --user \"$(id -u)\" --volume \"$PWD:/here\" \\
    --entrypoint opsctl opsctl init /here/homelab")]
pub struct InitArgs {
    /// The folder; created if it does not exist
    folder: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
    /// Also write egress.yaml, which adds an egress proxy, and use it in .env
    #[arg(long)]
    egress: bool,
}

/// Runs the verb.
pub fn run(args: &InitArgs) -> Result<u8, Failure> {
    let InitArgs { folder, force, egress } = args;
    let files: Vec<_> = FILES.into_iter().chain(egress.then_some(EGRESS)).collect();
    let paths = files.iter().map(|(name, ..)| folder.join(name));
    let taken = paths.into_iter().find(|path| path.symlink_metadata().is_ok());
    if let Some(path) = taken
        && !force
    {
        return Err(Failure::Exists(path));
    }
    for name in FOLDERS {
        let path = folder.join(name);
        fs::create_dir_all(&path).map_err(|error| cannot_write(&path, error))?;
    }
    for (name, text, mode) in files {
        let path = folder.join(name);
        let text =
            if *egress { text.replace(&format!("#{COMPOSE_FILE}"), COMPOSE_FILE) } else { text.to_owned() };
        write(&path, &text, mode).map_err(|error| cannot_write(&path, error))?;
        print(&format!("{}\n", path.display()));
    }
    Ok(OK)
}

/// Creates a new file. An existing one is removed first, so that its mode or link target is not used.
fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(text.as_bytes())
}

fn cannot_write(path: &Path, error: std::io::Error) -> Failure {
    let remedy = "check the folder's owner and rights, or name another";
    Failure::Unwritable { path: path.to_owned(), error, remedy }
}

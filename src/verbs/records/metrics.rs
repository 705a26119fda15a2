//! `opsctl metrics`: prints metrics, or writes them for the textfile collector of `node_exporter`.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::Args;
use tempfile::NamedTempFile;

use crate::pages::metrics::format::Format;
use crate::pages::metrics::text;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, environment_in_force, print};

/// Print metrics for Prometheus, or write them for the textfile collector of `node_exporter`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl metrics
  opsctl metrics --out /var/lib/node_exporter/opsctl.prom
  opsctl metrics --openmetrics --no-hosts

Without --openmetrics, the format is that of the textfile collector. The guard serves the metrics in the \
OpenMetrics format at /metrics.")]
pub struct MetricsArgs {
    /// Write to this file, which is replaced atomically
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the format of `OpenMetrics`
    #[arg(long)]
    openmetrics: bool,
    /// Do not ping hosts
    #[arg(long)]
    no_hosts: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("metrics").writes(&["--out"]).on_guards_side().with_ledger()];

/// Runs the verb.
pub fn run(args: &MetricsArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let format = if args.openmetrics { Format::OpenMetrics } else { Format::Prometheus };
    let text = text(format, &environment, Utc::now(), !args.no_hosts);
    match &args.out {
        None => print(&text),
        Some(file) => write(file, &text).map_err(|error| {
            Failure::unwritable(file, &error, "name a file in a folder that exists and can be written")
        })?,
    }
    Ok(OK)
}

/// Replaces the file atomically. The collector runs as another user, so everyone may read it.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The collector reads only files that end with `.prom`.
    let mut temporary = NamedTempFile::with_prefix_in(".opsctl-metrics", folder)?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    temporary.persist(file).map(drop).map_err(|error| error.error)
}

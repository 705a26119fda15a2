//! The environment of a rehearsed session: temporary folders, stubs for programs that could reach a service, and the
//! client.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

use super::cast::name;
use super::extensions;
use super::material::Material;
use super::scripted::messages::ToolResult;
use super::scripted::model::Model;
use super::scripted::script::Script;
use super::start;
use crate::machine::client::clients::Client;
use crate::machine::installation::COMPILED_POLICY;
use crate::machine::programs::ended_within;
use crate::setup::doctor::client::PLUGIN_DIRS;
use crate::setup::render::clients;
use opsctl_inventory::compiled::Compiled;

/// The timeout of a session. It takes seconds, or half a minute if a hook does not answer.
const DEADLINE: Duration = Duration::from_mins(2);

/// What all sessions of a rehearsal share.
#[derive(Debug)]
pub struct Props {
    /// The client's program.
    pub client: PathBuf,
    /// Which client it is.
    pub kind: Client,
    /// The project's settings for hooks and permissions, if there are any.
    pub settings: Option<String>,
    /// The project.
    pub project: PathBuf,
    /// The `hosts.yaml` from which the settings should be rendered.
    pub hosts: Option<PathBuf>,
    /// The folder for temporary files.
    pub scratch: PathBuf,
}

/// The folder for temporary files, or `state` if programs cannot run from it, as in a `tmpfs` of Docker: stubs have to.
pub fn scratch(state: &Path) -> PathBuf {
    let temporary = std::env::temp_dir();
    let is_noexec = statvfs(&temporary).is_ok_and(|disk| disk.f_flag.contains(StatVfsMountFlags::NOEXEC));
    if is_noexec { state.to_owned() } else { temporary }
}

/// The folders of one session.
#[derive(Debug)]
pub struct Stage {
    folder: TempDir,
    /// Further environment variables of the session.
    pub variables: Vec<(String, String)>,
    /// What a rehearsal uses.
    pub material: Material,
    /// The client's settings with hooks, relative to the project.
    pub settings: &'static str,
}

/// The result of a session.
#[derive(Debug)]
pub struct Played {
    /// The client's exit status; `None` after a timeout.
    pub status: Option<ExitStatus>,
    /// The conversations, one text per request.
    pub conversations: Vec<String>,
    /// The results of tool calls.
    pub results: Vec<ToolResult>,
    /// The calls of stubs, with their arguments.
    pub marks: Vec<String>,
    /// The last line of the client's stderr.
    pub complaint: String,
}

impl Stage {
    /// Creates the folders, with settings and policy.
    pub fn set(props: &Props, policy: &Compiled) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(&name()).tempdir_in(&props.scratch)?;
        let settings = clients::settings(props.kind);
        let stage = Self { folder, variables: vec![], material: Material::built_in()?, settings };
        for folder in ["project", "home", "state", "results", "repos", "bin", "tmp"] {
            fs::create_dir(stage.path(folder))?;
        }
        for (program, answer) in &stage.material.stubs {
            let stub = stage.path("bin").join(program);
            let marks = stage.path("marks");
            let record = format!("printf '%s\\n' \"{program} $*\" >>'{}'", marks.display());
            fs::write(&stub, format!("#!/bin/sh\n{answer}\n{record}\n"))?;
            fs::set_permissions(&stub, Permissions::from_mode(0o755))?;
        }
        symlink(std::env::current_exe()?, stage.path("bin/opsctl"))?;
        if let Some(settings) = &props.settings {
            stage.write(&format!("project/{}", stage.settings), settings)?;
        }
        extensions::copy_to(&stage.path("home/.claude"))?;
        for (file, text) in start::home_files(props.kind, &stage.path("bin")) {
            stage.write(file, &text)?;
        }
        let policy = policy.to_json().map_err(io::Error::other)?;
        stage.write(&format!("project/{COMPILED_POLICY}"), &policy)?;
        Ok(stage)
    }

    /// A path in the stage's folder.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// Writes a file in the stage's folder.
    pub fn write(&self, inside: &str, text: &str) -> io::Result<()> {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(path, text)
    }

    /// Reads a file in the stage's folder; empty if it does not exist.
    pub fn read(&self, inside: &str) -> String {
        fs::read_to_string(self.path(inside)).unwrap_or_default()
    }

    /// Runs a session until it ends or times out. Calls `meanwhile` every 50 ms.
    pub fn play(
        &self,
        props: &Props,
        tier: u8,
        script: Script,
        meanwhile: impl FnMut(),
    ) -> io::Result<Played> {
        let model = Model::start(script)?;
        let mut client = self.client(props, tier, model.url())?.spawn()?;
        let status = ended_within(&mut client, DEADLINE, Duration::from_millis(50), meanwhile)?;
        if status.is_none() {
            let group = i32::try_from(client.id()).ok().and_then(Pid::from_raw);
            // It may have ended meanwhile.
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
            client.wait()?;
        }
        self.end_the_rest();
        let marks = self.read("marks").lines().map(str::to_owned).collect();
        let complaint = self.read("stderr").lines().last().unwrap_or_default().to_owned();
        Ok(Played {
            status,
            conversations: model.conversations(),
            results: model.tool_results(),
            marks,
            complaint,
        })
    }

    /// The client's command, with an environment of its own. All tools are allowed, so that only the hooks restrict the
    /// session.
    fn client(&self, props: &Props, tier: u8, model: &str) -> io::Result<Command> {
        let path = |inside: &str| self.path(inside).into_os_string();
        let mut search = path("bin");
        search.push(":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        let streams =
            File::create(self.path("stdout")).and_then(|out| Ok((out, File::create(self.path("stderr"))?)));
        let mut command = Command::new(&props.client);
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", search)
            .env("HOME", path("home"))
            .env("TMPDIR", path("tmp"))
            .envs(std::env::var_os(PLUGIN_DIRS).map(|folders| (PLUGIN_DIRS, folders)))
            .envs(&self.material.environment)
            .env("CLAUDEOPS_TIER", tier.to_string())
            .env("CLAUDEOPS_HOSTS", path("hosts.yaml"))
            .env("CLAUDEOPS_STATE_DIR", path("state"))
            .env("CLAUDEOPS_RESULTS_DIR", path("results"))
            .env("CLAUDEOPS_REPOS_DIR", path("repos"))
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null())
            .process_group(0);
        start::arguments(&mut command, props.kind, &self.path("project"), model)?;
        match streams {
            Ok((out, error)) => command.stdout(out).stderr(error),
            Err(_) => command.stdout(Stdio::null()).stderr(Stdio::null()),
        };
        Ok(command)
    }

    /// The running PreToolUse hook of this stage, if there is one.
    pub fn guard_at_work(&self) -> Option<Pid> {
        self.processes().into_iter().find(|pid| {
            let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
            // A shell or `timeout` that runs the hook has other words before these.
            line.split(|byte| *byte == 0).skip(1).eq(PRE_TOOL_USE)
        })
    }

    /// The processes of this stage, recognised by its folder in their environment.
    fn processes(&self) -> Vec<Pid> {
        let own =
            [b"CLAUDEOPS_STATE_DIR=", self.path("state").as_os_str().as_encoded_bytes(), b"\0"].concat();
        let Ok(processes) = fs::read_dir("/proc") else { return vec![] };
        processes
            .flatten()
            .filter(|process| {
                let environment = fs::read(process.path().join("environ")).unwrap_or_default();
                environment.windows(own.len()).any(|window| window == own)
            })
            .filter_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?))
            .collect()
    }

    /// Kills processes that the session left running, such as asynchronous hooks.
    fn end_the_rest(&self) {
        for pid in self.processes() {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The arguments of a hook before a tool call in `/proc`, which end with an empty one.
const PRE_TOOL_USE: [&[u8]; 3] = [b"hook", b"pre-tool-use", b""];

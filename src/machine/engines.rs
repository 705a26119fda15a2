//! The container engines of this machine and of the hosts of the inventory, as they know containers by their IDs.
//!
//! The engine's own program is asked and not its socket: it finds the engine that the command would use (contexts, variables,
//! engines without a socket), and it can be asked through ssh as well.

use std::cell::{OnceCell, RefCell};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::agent_side::AgentSide;
use super::programs::is_program;
use super::request::Request;
use crate::machine::link::lookup::Lookup;
use opsctl_ledger::{KnownContainer, Ledger};
use opsctl_policy::model::installation::container::Container;
use opsctl_policy::targets::identity::{Answer, NoAnswer, Question, Surroundings};
use opsctl_probe::engine;
use opsctl_probe::engine::{EngineError, Said};
use opsctl_redact::shortened;

/// How long an engine of this machine has to answer.
const LOCAL_LIMIT: Duration = Duration::from_secs(2);

/// How long an engine of a host has to answer.
const SSH_LIMIT: Duration = Duration::from_secs(4);

/// The most questions for one tool call.
const MOST_QUESTIONS: usize = 16;

/// How long all engines together have to answer.
const LIMIT: Duration = Duration::from_secs(8);

/// From this length on, an ID identifies one container; a shorter one may identify another container later.
const LASTING_ID: usize = 12;

/// The longest message of an engine that is shown, in characters.
const MESSAGE_CHARS: usize = 120;

/// The engines, asked on behalf of one tool call.
pub struct Engines<'a> {
    request: &'a Request,
    /// When the first question may have been asked; `None` if no engine is asked.
    began: Option<Instant>,
    /// The ledger, which is only opened if an ID is looked up; `None` if it cannot be read.
    ledger: OnceCell<Option<Ledger>>,
    known: RefCell<Vec<KnownContainer>>,
    asked: RefCell<usize>,
    /// Engines that did not answer, with the reason: they are not asked again.
    silent: RefCell<Vec<(Option<String>, &'static str, NoAnswer)>>,
}

impl<'a> Engines<'a> {
    /// Engines that have not been asked yet.
    pub fn new(request: &'a Request) -> Self {
        Self {
            request,
            began: Some(Instant::now()),
            ledger: OnceCell::new(),
            known: RefCell::default(),
            asked: RefCell::default(),
            silent: RefCell::default(),
        }
    }

    /// What engines have answered within a day; they are not asked again.
    pub fn as_remembered(request: &'a Request) -> Self {
        Self { began: None, ..Self::new(request) }
    }

    /// The containers that engines have named.
    pub fn into_known(self) -> Vec<KnownContainer> {
        self.known.into_inner()
    }

    /// The container that an engine has named within a day.
    fn remembered(&self, question: &Question<'_>) -> Option<Container> {
        let host = question.host.map(|(name, _)| name);
        let open = || Ledger::open_existing(&self.request.ledger).ok().flatten();
        let ledger = self.ledger.get_or_init(open).as_ref()?;
        ledger.container(host, question.engine.program, question.id, self.request.now).ok().flatten()
    }

    fn inspect(&self, question: &Question<'_>) -> Answer {
        let Some(began) = self.began else {
            return Answer::Unanswered(NoAnswer::AfterCall);
        };
        if began.elapsed() > LIMIT {
            return Answer::Unanswered(NoAnswer::OutOfTime(LIMIT.as_secs()));
        }
        let host = question.host.map(|(name, _)| name.to_owned());
        let program = question.engine.program;
        let silent =
            self.silent.borrow().iter().find(|(of, engine, _)| *of == host && *engine == program).cloned();
        if let Some((.., reason)) = silent {
            return Answer::Unanswered(reason);
        }
        if self.asked.replace_with(|asked| *asked + 1) >= MOST_QUESTIONS {
            return Answer::Unanswered(NoAnswer::ManyIds(MOST_QUESTIONS));
        }
        match inspect(question, &self.request.agent) {
            Ok(Answer::Container(container)) => {
                let known = KnownContainer { host, engine: program, container: container.clone() };
                self.known.borrow_mut().push(known);
                Answer::Container(container)
            }
            Ok(answer) => answer,
            Err(reason) => {
                self.silent.borrow_mut().push((host, program, reason.clone()));
                Answer::Unanswered(reason)
            }
        }
    }
}

impl Surroundings for Engines<'_> {
    fn ask(&self, question: &Question<'_>) -> Answer {
        if question.id.len() >= LASTING_ID
            && let Some(container) = self.remembered(question)
        {
            return Answer::Container(container);
        }
        match self.inspect(question) {
            Answer::Container(container) => Answer::Container(container),
            // After `docker rm -f`, only the ledger knows the container.
            other => self.remembered(question).map_or(other, Answer::Container),
        }
    }

    fn name(&self) -> Option<String> {
        self.request.agent.find(|| Lookup::HostName, host_name)
    }
}

/// The name of this machine.
pub fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    // A full name begins with that of the host.
    name.trim().split('.').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// What an engine's program has printed, or why there is nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Printed {
    /// It ran.
    Output {
        /// Whether its exit code is 0.
        success: bool,
        /// Its stdout.
        stdout: String,
        /// Its stderr.
        stderr: String,
    },
    /// There is no such program that only an administrator can change.
    NotInstalled,
    /// It took too long.
    Timeout,
    /// It could not be started or reached, with the reason.
    Failed(String),
}

/// Runs `docker inspect`, and reads its answer. An error means that the engine does not answer any question, and why.
fn inspect(question: &Question<'_>, agent: &AgentSide) -> Result<Answer, NoAnswer> {
    let (program, sudo) = (question.engine.program, question.engine.sudo);
    let destination = question.host.map(|(_, destination)| destination);
    let lookup = || {
        let (program, destination) = (program.to_owned(), destination.map(str::to_owned));
        Lookup::Container { program, sudo, destination, id: question.id.to_owned() }
    };
    let printed = agent.find(lookup, || Some(run_inspect(program, sudo, destination, question.id)));
    let printed = printed.unwrap_or(Printed::Timeout);
    let (success, stdout, stderr) = match printed {
        Printed::Output { success, stdout, stderr } => (success, stdout, stderr),
        Printed::NotInstalled => return Err(NoAnswer::NotInstalled(started(program, destination))),
        Printed::Timeout => return Err(NoAnswer::Timeout(limit(destination).as_secs())),
        Printed::Failed(why) => return Err(NoAnswer::Failed(why)),
    };
    if success {
        let container = stdout.lines().find_map(Container::read);
        let is_meant =
            |container: &Container| container.id.starts_with(question.id) || container.name == question.id;
        let unread = || Answer::Unanswered(NoAnswer::Unreadable);
        return Ok(container.filter(is_meant).map_or_else(unread, Answer::Container));
    }
    if stderr.to_lowercase().contains("no such") {
        return Ok(Answer::NoContainer);
    }
    let why = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason was given");
    let why = shortened(why.trim(), MESSAGE_CHARS);
    Ok(Answer::Unanswered(NoAnswer::Failed(why)))
}

/// The program that is started on this machine.
fn started<'a>(program: &'a str, destination: Option<&str>) -> &'a str {
    if destination.is_some() { "ssh" } else { program }
}

fn limit(destination: Option<&str>) -> Duration {
    if destination.is_some() { SSH_LIMIT } else { LOCAL_LIMIT }
}

/// Runs `docker inspect` on this machine or on an ssh destination.
pub fn run_inspect(program: &str, sudo: bool, destination: Option<&str>, id: &str) -> Printed {
    let Some(path) = find(started(program, destination)) else { return Printed::NotInstalled };
    let path = path.to_string_lossy();
    let template = Container::template();
    let inspect = ["inspect", "--type", "container", "--format", &template, id];
    let mut words = Vec::new();
    if destination.is_none() {
        words.push(path.as_ref());
    } else {
        words.extend(if sudo { ["sudo", "-n"].as_slice() } else { &[] });
        words.push(program);
    }
    words.extend(inspect);
    let ssh = destination.map(|destination| (path.as_ref(), destination));
    match engine::ask(&words, ssh, limit(destination)) {
        Ok(Said { success, stdout, stderr, .. }) => Printed::Output { success, stdout, stderr },
        Err(EngineError::Timeout) => Printed::Timeout,
        Err(EngineError::Failed(why)) => Printed::Failed(why),
    }
}

/// The path of the first program of this name in `PATH` that the agent cannot replace.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let is_root = rustix::process::geteuid().is_root();
    let is_guarded = |path: &Path| path.ancestors().all(|part| is_guarded(part, is_root));
    folders.map(|folder| folder.join(name)).find(|path| {
        is_program(path) && is_guarded(path) && path.canonicalize().is_ok_and(|real| is_guarded(&real))
    })
}

/// Whether only other users, such as root, can change a file or the entries of a folder.
fn is_guarded(path: &Path, is_root: bool) -> bool {
    let Ok(file) = path.metadata() else { return false };
    let own = file.uid() == rustix::process::geteuid().as_raw();
    // In a folder such as /tmp, only its owner can replace an entry.
    let writable = file.mode() & 0o022 != 0 && !(file.is_dir() && file.mode() & 0o1000 != 0);
    (is_root || !own) && !writable
}

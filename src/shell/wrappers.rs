//! Programs that run another command, as data: where in their words that command stands.

use super::builtins::join;
use super::evaluate::Evaluator;
use super::options::{At, Item, Scanner};
use super::simple::Invocation;
use super::state::Shell;
use super::text::{Field, is_known};

/// How a program takes the command that it runs.
struct Wrapper {
    names: &'static [&'static str],
    /// Subcommands that must come first, e.g. `exec`; options of `global` may stand before them.
    path: &'static [&'static str],
    /// Options before the subcommands that take a value.
    global: &'static [&'static str],
    /// Options that take a value.
    valued: &'static [&'static str],
    /// Words that come before the command: a time limit, a container.
    skip: usize,
    /// Options whose value is a script.
    script: &'static [&'static str],
    /// The words are joined and read by a shell.
    joined: bool,
    /// `NAME=value` words may come before the command.
    assigns: bool,
    /// It runs where nothing is known of directories and variables.
    inside: bool,
    /// It runs the command again and again.
    repeats: bool,
    /// Options that name the directory.
    dir: &'static [&'static str],
    /// Options that name the host.
    host: &'static [&'static str],
    /// Standard input is a script when no command is given.
    shell: bool,
}

const PLAIN: Wrapper = Wrapper {
    names: &[],
    path: &[],
    global: &[],
    valued: &[],
    skip: 0,
    script: &[],
    joined: false,
    assigns: false,
    inside: false,
    repeats: false,
    dir: &[],
    host: &[],
    shell: false,
};

const ENGINE_GLOBAL: &[&str] = &[
    "-H",
    "--host",
    "-c",
    "--context",
    "--config",
    "-l",
    "--log-level",
    "--tlscacert",
    "--tlscert",
    "--tlskey",
    "--connection",
    "--url",
    "--identity",
    "--root",
    "--runroot",
    "-n",
    "--namespace",
    "-a",
    "--address",
];
const ENGINE_EXEC: &[&str] =
    &["-e", "--env", "--env-file", "-u", "--user", "-w", "--workdir", "--detach-keys", "--index"];
const ENGINE_RUN: &[&str] = &[
    "-a",
    "--attach",
    "--add-host",
    "--annotation",
    "--blkio-weight",
    "--cap-add",
    "--cap-drop",
    "--cgroup-parent",
    "--cgroupns",
    "--cidfile",
    "-c",
    "--cpu-shares",
    "--cpus",
    "--cpuset-cpus",
    "--cpuset-mems",
    "--device",
    "--dns",
    "--dns-search",
    "--dns-option",
    "--domainname",
    "--entrypoint",
    "-e",
    "--env",
    "--env-file",
    "--expose",
    "--gpus",
    "--group-add",
    "--health-cmd",
    "--health-interval",
    "--health-retries",
    "--health-timeout",
    "-h",
    "--hostname",
    "--ip",
    "--ip6",
    "--ipc",
    "-l",
    "--label",
    "--label-file",
    "--link",
    "--log-driver",
    "--log-opt",
    "-m",
    "--memory",
    "--memory-swap",
    "--mount",
    "--name",
    "--net",
    "--network",
    "--network-alias",
    "--oom-score-adj",
    "--pid",
    "--pids-limit",
    "--platform",
    "--pod",
    "-p",
    "--publish",
    "--pull",
    "--restart",
    "--runtime",
    "--security-opt",
    "--shm-size",
    "--stop-signal",
    "--stop-timeout",
    "--storage-opt",
    "--sysctl",
    "--tmpfs",
    "--ulimit",
    "-u",
    "--user",
    "--userns",
    "--uts",
    "-v",
    "--volume",
    "--volumes-from",
    "-w",
    "--workdir",
];
const COMPOSE_GLOBAL: &[&str] = &[
    "-f",
    "--file",
    "-p",
    "--project-name",
    "--project-directory",
    "--profile",
    "--env-file",
    "--parallel",
    "--progress",
    "--ansi",
    "-H",
    "--host",
    "-c",
    "--context",
    "--config",
    "-l",
    "--log-level",
];
const KUBE_GLOBAL: &[&str] = &[
    "-n",
    "--namespace",
    "--context",
    "--cluster",
    "--kubeconfig",
    "-s",
    "--server",
    "--user",
    "--token",
    "--as",
    "--as-group",
    "--request-timeout",
    "--certificate-authority",
    "--client-certificate",
    "--client-key",
    "-v",
];

static WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["sudo"],
        valued: &[
            "-u",
            "--user",
            "-g",
            "--group",
            "-p",
            "--prompt",
            "-r",
            "--role",
            "-t",
            "--type",
            "-T",
            "--command-timeout",
            "-C",
            "--close-from",
            "-D",
            "--chdir",
            "-R",
            "--chroot",
            "-h",
            "--host",
            "-U",
            "--other-user",
        ],
        dir: &["-D", "--chdir"],
        assigns: true,
        ..PLAIN
    },
    Wrapper { names: &["doas"], valued: &["-u", "-C", "-a"], ..PLAIN },
    Wrapper {
        names: &["env"],
        valued: &["-u", "--unset", "-C", "--chdir", "-S", "--split-string", "-a", "--argv0"],
        dir: &["-C", "--chdir"],
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        names: &[
            "nohup",
            "setsid",
            "chronic",
            "unbuffer",
            "eatmydata",
            "catchsegv",
            "fakeroot",
            "torsocks",
            "proxychains",
            "proxychains4",
            "dbus-run-session",
            "pkexec",
            "ts",
            "rlwrap",
            "setarch",
        ],
        valued: &["--user"],
        ..PLAIN
    },
    Wrapper { names: &["nice"], valued: &["-n", "--adjustment"], ..PLAIN },
    Wrapper {
        names: &["ionice"],
        valued: &["-c", "--class", "-n", "--classdata", "-p", "--pid", "-P", "-u"],
        ..PLAIN
    },
    Wrapper { names: &["chrt"], valued: &["-T", "-P", "-D"], skip: 1, ..PLAIN },
    Wrapper { names: &["taskset"], skip: 1, ..PLAIN },
    Wrapper { names: &["cpulimit"], valued: &["-l", "--limit", "-p", "-e"], ..PLAIN },
    Wrapper { names: &["prlimit"], valued: &["-p", "--pid"], ..PLAIN },
    Wrapper { names: &["stdbuf"], valued: &["-i", "--input", "-o", "--output", "-e", "--error"], ..PLAIN },
    Wrapper {
        names: &["timeout", "gtimeout"],
        valued: &["-k", "--kill-after", "-s", "--signal"],
        skip: 1,
        ..PLAIN
    },
    Wrapper { names: &["time", "gtime"], valued: &["-f", "--format", "-o", "--output"], ..PLAIN },
    Wrapper {
        names: &["watch"],
        valued: &["-n", "--interval", "-q", "--equexit"],
        joined: true,
        repeats: true,
        ..PLAIN
    },
    Wrapper {
        names: &["flock"],
        valued: &["-w", "--timeout", "--wait", "-E", "--conflict-exit-code", "-c", "--command"],
        skip: 1,
        script: &["-c", "--command"],
        ..PLAIN
    },
    Wrapper { names: &["chroot"], valued: &["--userspec", "--groups"], skip: 1, inside: true, ..PLAIN },
    Wrapper {
        names: &["nsenter"],
        valued: &["-t", "--target", "-S", "--setuid", "-G", "--setgid"],
        inside: true,
        ..PLAIN
    },
    Wrapper {
        names: &["unshare"],
        valued: &["-S", "-G", "-R", "-w", "--root", "--wd", "--map-user", "--map-group"],
        ..PLAIN
    },
    Wrapper {
        names: &["systemd-run"],
        valued: &[
            "-u",
            "--unit",
            "-p",
            "--property",
            "-E",
            "--setenv",
            "-H",
            "--host",
            "-M",
            "--machine",
            "--description",
            "--slice",
            "--uid",
            "--gid",
            "--nice",
            "--working-directory",
            "-t",
            "--on-active",
            "--on-boot",
            "--on-startup",
            "--on-unit-active",
            "--on-unit-inactive",
            "--on-calendar",
            "--timer-property",
            "--path-property",
            "--socket-property",
            "--service-type",
            "--background",
        ],
        dir: &["--working-directory"],
        host: &["-H", "--host"],
        ..PLAIN
    },
    Wrapper { names: &["systemd-inhibit"], valued: &["--what", "--who", "--why", "--mode"], ..PLAIN },
    Wrapper {
        names: &["strace", "ltrace"],
        valued: &[
            "-a", "-b", "-e", "-E", "-I", "-o", "-O", "-p", "-P", "-s", "-S", "-u", "-U", "-X", "-l", "-n",
            "-A", "-D",
        ],
        ..PLAIN
    },
    Wrapper {
        names: &["script"],
        valued: &[
            "-c",
            "--command",
            "-I",
            "--log-in",
            "-O",
            "--log-out",
            "-B",
            "--log-io",
            "-T",
            "--log-timing",
            "-E",
            "--echo",
            "-m",
            "-o",
            "--output-limit",
        ],
        skip: usize::MAX,
        script: &["-c", "--command"],
        ..PLAIN
    },
    Wrapper {
        names: &["su"],
        valued: &["-c", "--command", "-g", "--group", "-G", "--supp-group", "-s", "--shell", "-w", "-T"],
        skip: usize::MAX,
        script: &["-c", "--command", "--session-command"],
        shell: true,
        ..PLAIN
    },
    Wrapper {
        names: &["runuser"],
        valued: &[
            "-c",
            "--command",
            "-g",
            "--group",
            "-G",
            "--supp-group",
            "-s",
            "--shell",
            "-w",
            "-u",
            "--user",
        ],
        script: &["-c", "--command", "--session-command"],
        shell: true,
        ..PLAIN
    },
    Wrapper { names: &["sg"], valued: &["-c"], skip: 1, script: &["-c"], joined: true, ..PLAIN },
    Wrapper { names: &["gosu", "su-exec", "setuidgid", "chpst"], skip: 1, ..PLAIN },
    Wrapper {
        names: &["setpriv"],
        valued: &[
            "--reuid",
            "--regid",
            "--groups",
            "--inh-caps",
            "--ambient-caps",
            "--bounding-set",
            "--securebits",
            "--pdeathsig",
        ],
        ..PLAIN
    },
    Wrapper { names: &["sshpass"], valued: &["-f", "-d", "-p", "-P"], ..PLAIN },
    Wrapper { names: &["xvfb-run"], valued: &["-e", "-f", "-n", "-p", "-s", "-w"], ..PLAIN },
    Wrapper { names: &["faketime"], skip: 1, ..PLAIN },
    Wrapper { names: &["busybox", "toybox"], ..PLAIN },
    Wrapper {
        names: &["uv", "pipenv", "poetry", "pdm", "hatch", "rye", "pixi", "conda", "mamba", "micromamba"],
        path: &["run"],
        global: &["--project", "--directory", "-C", "--cache-dir", "--config-file"],
        valued: &[
            "--with",
            "--python",
            "-p",
            "--extra",
            "--group",
            "--env-file",
            "--project",
            "--directory",
            "--with-requirements",
            "--with-editable",
            "--index-url",
            "-n",
            "--name",
            "-e",
            "--environment",
        ],
        dir: &["--directory"],
        ..PLAIN
    },
    Wrapper {
        names: &["op", "doppler", "infisical", "aws-vault-run"],
        path: &["run"],
        valued: &["--env-file", "--project", "-p", "--config", "-c", "--account", "--env"],
        ..PLAIN
    },
    Wrapper { names: &["aws-vault", "chamber", "envchain", "teller"], path: &["exec"], skip: 1, ..PLAIN },
    Wrapper { names: &["sops"], path: &["exec-env"], skip: 1, joined: true, ..PLAIN },
    Wrapper { names: &["direnv"], path: &["exec"], skip: 1, ..PLAIN },
    Wrapper { names: &["mise", "asdf", "rtx"], path: &["exec"], ..PLAIN },
    Wrapper {
        names: &["nix-shell"],
        valued: &["-p", "--run", "--command", "-I", "-A"],
        script: &["--run", "--command"],
        skip: usize::MAX,
        ..PLAIN
    },
    Wrapper { names: &["nix"], path: &["develop"], valued: &["-c", "--command"], skip: usize::MAX, ..PLAIN },
    Wrapper {
        names: &["firejail", "bwrap"],
        valued: &["--profile", "--bind", "--ro-bind", "--chdir"],
        ..PLAIN
    },
    Wrapper {
        names: &["vagrant"],
        path: &["ssh"],
        valued: &["-c", "--command", "-p"],
        script: &["-c", "--command"],
        skip: usize::MAX,
        inside: true,
        ..PLAIN
    },
    Wrapper {
        names: &["tmux"],
        path: &["new-session"],
        global: &["-L", "-S", "-f", "-c"],
        valued: &["-s", "-n", "-c", "-t", "-x", "-y", "-e", "-F"],
        dir: &["-c"],
        joined: true,
        ..PLAIN
    },
    Wrapper {
        names: &["tmux"],
        path: &["new"],
        global: &["-L", "-S", "-f", "-c"],
        valued: &["-s", "-n", "-c", "-t", "-x", "-y", "-e", "-F"],
        dir: &["-c"],
        joined: true,
        ..PLAIN
    },
    Wrapper {
        names: &["tmux"],
        path: &["new-window"],
        global: &["-L", "-S", "-f", "-c"],
        valued: &["-n", "-c", "-t", "-e", "-F"],
        dir: &["-c"],
        joined: true,
        ..PLAIN
    },
    Wrapper {
        names: &["tmux"],
        path: &["neww"],
        global: &["-L", "-S", "-f", "-c"],
        valued: &["-n", "-c", "-t", "-e", "-F"],
        dir: &["-c"],
        joined: true,
        ..PLAIN
    },
    Wrapper {
        names: &["tmux"],
        path: &["split-window"],
        global: &["-L", "-S", "-f", "-c"],
        valued: &["-c", "-t", "-e", "-F", "-l", "-p"],
        dir: &["-c"],
        joined: true,
        ..PLAIN
    },
    Wrapper {
        names: &["tmux"],
        path: &["splitw"],
        global: &["-L", "-S", "-f", "-c"],
        valued: &["-c", "-t", "-e", "-F", "-l", "-p"],
        dir: &["-c"],
        joined: true,
        ..PLAIN
    },
    Wrapper {
        names: &["tmux"],
        path: &["respawn-pane"],
        global: &["-L", "-S", "-f", "-c"],
        valued: &["-c", "-t", "-e"],
        dir: &["-c"],
        joined: true,
        ..PLAIN
    },
    Wrapper {
        names: &["tmux"],
        path: &["run-shell"],
        global: &["-L", "-S", "-f"],
        valued: &["-t", "-d", "-c"],
        joined: true,
        ..PLAIN
    },
    Wrapper { names: &["screen"], valued: &["-S", "-c", "-e", "-h", "-p", "-s", "-t", "-T", "-X"], ..PLAIN },
    Wrapper {
        names: &["docker", "podman", "nerdctl"],
        path: &["exec"],
        global: ENGINE_GLOBAL,
        valued: ENGINE_EXEC,
        skip: 1,
        inside: true,
        host: &["-H", "--host"],
        ..PLAIN
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl"],
        path: &["container", "exec"],
        global: ENGINE_GLOBAL,
        valued: ENGINE_EXEC,
        skip: 1,
        inside: true,
        host: &["-H", "--host"],
        ..PLAIN
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl"],
        path: &["run"],
        global: ENGINE_GLOBAL,
        valued: ENGINE_RUN,
        skip: 1,
        inside: true,
        host: &["-H", "--host"],
        ..PLAIN
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl"],
        path: &["container", "run"],
        global: ENGINE_GLOBAL,
        valued: ENGINE_RUN,
        skip: 1,
        inside: true,
        host: &["-H", "--host"],
        ..PLAIN
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl"],
        path: &["compose", "exec"],
        global: COMPOSE_GLOBAL,
        valued: ENGINE_EXEC,
        skip: 1,
        inside: true,
        host: &["-H", "--host"],
        ..PLAIN
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl"],
        path: &["compose", "run"],
        global: COMPOSE_GLOBAL,
        valued: ENGINE_RUN,
        skip: 1,
        inside: true,
        host: &["-H", "--host"],
        ..PLAIN
    },
    Wrapper {
        names: &["docker-compose", "podman-compose"],
        path: &["exec"],
        global: COMPOSE_GLOBAL,
        valued: ENGINE_EXEC,
        skip: 1,
        inside: true,
        host: &["-H", "--host"],
        ..PLAIN
    },
    Wrapper {
        names: &["docker-compose", "podman-compose"],
        path: &["run"],
        global: COMPOSE_GLOBAL,
        valued: ENGINE_RUN,
        skip: 1,
        inside: true,
        host: &["-H", "--host"],
        ..PLAIN
    },
    Wrapper {
        names: &["kubectl", "oc", "k3s-kubectl", "microk8s.kubectl"],
        path: &["exec"],
        global: KUBE_GLOBAL,
        valued: &[
            "-c",
            "--container",
            "-n",
            "--namespace",
            "--context",
            "--kubeconfig",
            "-f",
            "--filename",
            "--pod-running-timeout",
        ],
        skip: 1,
        inside: true,
        ..PLAIN
    },
    Wrapper { names: &["k3s", "microk8s", "minikube"], path: &["kubectl"], skip: 0, ..PLAIN },
    Wrapper { names: &["pct"], path: &["exec"], skip: 1, inside: true, ..PLAIN },
    Wrapper {
        names: &["qm"],
        path: &["guest", "exec"],
        valued: &["--timeout"],
        skip: 1,
        inside: true,
        ..PLAIN
    },
    Wrapper {
        names: &["lxc", "incus"],
        path: &["exec"],
        valued: &["--cwd", "--env", "--group", "--user", "--mode", "--project"],
        skip: 1,
        inside: true,
        ..PLAIN
    },
    Wrapper {
        names: &["lxc-attach"],
        valued: &["-n", "--name", "-P", "-f", "-v", "--set-var", "-u", "-g"],
        inside: true,
        ..PLAIN
    },
    Wrapper {
        names: &["machinectl"],
        path: &["shell"],
        valued: &["--uid", "-E", "--setenv", "-M", "-H"],
        skip: 1,
        inside: true,
        host: &["-H", "--host"],
        ..PLAIN
    },
];

/// Runs what a wrapper wraps; `None` when the program is no wrapper or wraps nothing.
pub(crate) fn run(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    program: &str,
) -> Option<String> {
    let texts = invocation.texts();
    let (wrapper, start, mut host) =
        WRAPPERS.iter().filter(|wrapper| wrapper.names.contains(&program)).find_map(|w| {
            let (start, host) = after_path(w, &texts)?;
            Some((w, start, host))
        })?;
    let mut inner = if wrapper.inside { shell.elsewhere() } else { shell.clone() }.through(program);
    inner.stdin.clone_from(&invocation.stdin);
    inner.repeats |= wrapper.repeats;
    let mut scanner = Scanner::new(&texts, start, wrapper.valued);
    let mut skipped = 0;
    let mut script = None;
    let mut split = None;
    let mut command = None;
    let mut exact = false;
    let value = |at: At| texts.get(at.index).and_then(|word| word.get(at.offset..)).unwrap_or_default();
    while let Some(item) = scanner.next() {
        match item {
            Item::Option(name, Some(at)) if name.is_any(wrapper.script) => {
                script = Some(value(at).to_owned())
            }
            Item::Option(name, Some(at)) if program == "env" && name.is_any(&["-S", "--split-string"]) => {
                split = Some(value(at).to_owned());
                // What follows belongs to the command.
                command = Some(scanner.position());
                break;
            }
            Item::Option(name, Some(at)) if name.is_any(wrapper.dir) => {
                inner.cwd = if is_known(value(at)) { shell.follow(value(at)) } else { None };
            }
            Item::Option(name, Some(at)) if name.is_any(wrapper.host) => host = Some(value(at).to_owned()),
            Item::Option(name, None) if program == "watch" && name.is_any(&["-x", "--exec"]) => exact = true,
            Item::Option(name, None) if program == "nix" && name.is_any(&["-c", "--command"]) => {
                command = Some(scanner.position());
                break;
            }
            Item::Option(name, value_at) if asks_only(program, name) && value_at.is_none() => {
                // `sudo -l`, `sudo -e file`: nothing is run.
                evaluator.leaf(shell, invocation);
                return Some(String::new());
            }
            Item::Option(..) => {}
            // `kubectl exec pod -- command`: the dashes end the wrapper's own words.
            Item::Dashes(index) => {
                if wrapper.skip != usize::MAX && skipped >= wrapper.skip {
                    command = Some(index + 1);
                    break;
                }
            }
            Item::Positional(index) => {
                let word = texts.get(index).copied().unwrap_or_default();
                if wrapper.assigns && is_assignment(word) {
                    if let Some((name, text)) = word.split_once('=') {
                        inner.set_text(name, text);
                        evaluator.export(&mut inner, name);
                    }
                } else if skipped < wrapper.skip {
                    skipped += 1;
                } else {
                    command = Some(index);
                    break;
                }
            }
        }
    }
    if let Some(host) = host.as_deref().and_then(super::remote::host_of) {
        inner = inner.on_host(evaluator.unknowns.show(&host));
    }
    let mut rest = command.and_then(|at| invocation.fields.get(at..)).unwrap_or_default();
    if rest.first().is_some_and(|field| field.text == "--") {
        rest = rest.get(1..).unwrap_or_default();
    }
    let label = label(program, wrapper.path);
    if let Some(text) = script {
        // `su user -c '… $1' name argument`: the rest are the script's arguments.
        let mut inner = inner.child();
        inner.args = std::rc::Rc::new(rest.get(1..).unwrap_or_default().to_vec());
        return Some(evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text)));
    }
    if let Some(text) = split {
        let text = format!("{text} {}", quoted(rest));
        let mut inner = inner.child();
        return Some(evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text)));
    }
    if rest.is_empty() {
        if wrapper.shell
            && let Some(text) = invocation.stdin.clone()
        {
            let mut inner = inner.child();
            return Some(
                evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text)),
            );
        }
        return None;
    }
    // A single word is a script to tmux, several are joined as they are.
    if wrapper.joined && !exact {
        let text = join(rest);
        let mut inner = inner.child();
        return Some(evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text)));
    }
    let rest = invocation.with(rest.to_vec());
    let inner = if wrapper.inside { inner } else { Shell { functions: std::rc::Rc::default(), ..inner } };
    Some(evaluator.through(shell, invocation, label, |this| this.run_program(&inner, &rest)))
}

impl Evaluator {
    /// Runs words as a program that another program starts: no function, no builtin.
    pub fn run_program(&mut self, shell: &Shell, invocation: &Invocation) -> String {
        if self.depth_reached() || self.exhausted() {
            let words = invocation.texts().join(" ");
            self.unread(shell, &words);
            return self.unknowns.plain("…");
        }
        self.spend(1);
        self.depth += 1;
        // `sudo cd` and `env eval` do nothing; `nohup command x` and `sudo exec x` people do write.
        let printed = match invocation.word(0) {
            Some("command" | "exec" | "builtin" | "eval" | "test" | "[" | "true" | "false" | "printf") => {
                let mut inner = shell.clone();
                super::builtins::run(self, &mut inner, invocation)
                    .unwrap_or_else(|| self.start(shell, invocation))
                    .0
            }
            _ => self.start(shell, invocation).0,
        };
        self.depth -= 1;
        printed
    }
}

fn label(program: &str, path: &[&str]) -> String {
    std::iter::once(program).chain(path.iter().copied()).collect::<Vec<_>>().join(" ")
}

/// The index after the wrapper's subcommands, and the host that its global options name.
fn after_path(wrapper: &Wrapper, texts: &[&str]) -> Option<(usize, Option<String>)> {
    let mut host = None;
    if wrapper.path.is_empty() {
        return Some((1, None));
    }
    let mut path = wrapper.path.iter();
    let mut wanted = path.next();
    let mut scanner = Scanner::new(texts, 1, wrapper.global);
    while let Some(name) = wanted {
        match scanner.next()? {
            Item::Positional(index) if texts.get(index) == Some(name) => wanted = path.next(),
            Item::Positional(_) => return None,
            Item::Option(option, Some(at)) if option.is_any(wrapper.host) => {
                host = texts.get(at.index).and_then(|word| word.get(at.offset..)).map(str::to_owned);
            }
            _ => {}
        }
    }
    Some((scanner.position(), host))
}

/// Options with which the program runs nothing.
fn asks_only(program: &str, name: super::options::Name<'_>) -> bool {
    match program {
        "sudo" => name.is_any(&[
            "-l",
            "--list",
            "-v",
            "--validate",
            "-e",
            "--edit",
            "-V",
            "--version",
            "--help",
            "-K",
        ]),
        "docker" | "podman" | "nerdctl" | "timeout" | "nohup" | "env" => name.is("--help"),
        _ => false,
    }
}

/// `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Words written so that a shell reads the same words again.
pub(crate) fn quoted(fields: &[Field]) -> String {
    let quote = |field: &Field| format!("'{}'", field.text.replace('\'', "'\\''"));
    fields.iter().map(quote).collect::<Vec<_>>().join(" ")
}

//! Programs that run another command, as data: where in their words that command stands.

#[expect(clippy::struct_excessive_bools, reason = "a row of independent yes-or-no facts")]
/// How a program takes the command that it runs.
pub(crate) struct Wrapper {
    /// The program's names.
    pub names: &'static [&'static str],
    /// Subcommands that must come first, e.g. `exec`; options of `global` may stand before them.
    pub path: &'static [&'static str],
    /// Options before the subcommands that take a value.
    pub global: &'static [&'static str],
    /// Options that take a value.
    pub valued: &'static [&'static str],
    /// Words that come before the command: a time limit, a container.
    pub skip: usize,
    /// Options whose value is a script.
    pub script: &'static [&'static str],
    /// The words are joined and read by a shell.
    pub joined: bool,
    /// `NAME=value` words may come before the command.
    pub assigns: bool,
    /// It runs where nothing is known of directories and variables.
    pub inside: bool,
    /// It runs the command again and again.
    pub repeats: bool,
    /// Options with which it runs the command again and again.
    pub timers: &'static [&'static str],
    /// Options that name the directory.
    pub dir: &'static [&'static str],
    /// Options that name the host.
    pub host: &'static [&'static str],
    /// Options with which standard input is a script when no command is given; `""` stands for none needed.
    pub shell: &'static [&'static str],
    /// The words are keys for a shell that is there already.
    pub typed: bool,
}

/// What a row states nothing of.
pub(crate) const PLAIN: Wrapper = Wrapper {
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
    timers: &[],
    dir: &[],
    host: &[],
    shell: &[],
    typed: false,
};

/// Programs that run a script on standard input some time later.
const LATER: &[&str] = &["at", "batch"];

/// Those that run the command on this machine; the first that fits is taken.
pub(crate) static WRAPPERS: &[Wrapper] = &[
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
        shell: &["-s", "--shell", "-i", "--login"],
        ..PLAIN
    },
    Wrapper { names: &["doas"], valued: &["-u", "-C", "-a"], shell: &["-s"], ..PLAIN },
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
        shell: &[""],
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
        timers: &["--on-calendar", "--on-unit-active", "--on-unit-inactive"],
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
        shell: &[""],
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
        shell: &[""],
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
    Wrapper { names: LATER, valued: &["-f", "-q", "-t"], skip: usize::MAX, shell: &[""], ..PLAIN },
];

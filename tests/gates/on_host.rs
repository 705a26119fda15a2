//! The forced command of a key on a host: real ssh, scp and sftp against a real sshd.

use std::fs::{self, File};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Lan, lan};

const POLICY: &str = "
hosts:
  here: {address: 127.0.0.1}
services:
  jellyfin: {host: here, containers: [jellyfin]}
policy: {secret: ['/srv/keys/**'], protect: ['!/srv/open/**', '/srv/locked/**']}
";

/// A host with sshd, whose only key has the gate as its forced command at this tier. What runs is written to `docker.log`.
fn host(lan: &Lan, tier: &str) {
    let folder = lan.path("").display().to_string();
    let folder = folder.trim_end_matches('/');
    lan.write("gate/hosts.yaml", POLICY);
    lan.write("bin/docker", &format!("#!/bin/sh\necho \"$@\" >> {folder}/docker.log\nexit 0\n"));
    lan.instead_of("/etc/passwd", &format!(
        "root:x:0:0:root:{folder}/home:/bin/bash\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\nnobody:x:65534:65534::/:/usr/sbin/nologin\n"
    ));
    // A folder that every system has, and that comes first in the gate's search path.
    lan.sh(&format!(
        "mkdir -p home state ssh /run/sshd
         chmod +x bin/docker
         mount --bind bin /usr/local/sbin
         mount -t tmpfs none /srv
         mkdir -p /srv/keys /srv/locked /srv/open
         echo secret > /srv/keys/k; echo plain > /srv/open/p
         ssh-keygen -q -t ed25519 -N '' -f ssh/host
         ssh-keygen -q -t ed25519 -N '' -f ssh/user
         echo \"[127.0.0.1]:2222 $(cut -d' ' -f1,2 ssh/host.pub)\" > ssh/known_hosts
         echo 'docker() {{ echo shadowed; }}; export PATH=/nowhere CLAUDEOPS_TIER=3 CLAUDEOPS_STATE_DIR=/nowhere' > home/.bashrc
         echo \"restrict,command=\\\"{} gate ssh {tier} --policy {folder}/gate/hosts.yaml --state {folder}/state\\\" $(cat ssh/user.pub)\" > ssh/authorized_keys",
        env!("CARGO_BIN_EXE_opsctl")
    ));
    lan.write("ssh/config", &format!(
        "Host h\n HostName 127.0.0.1\n Port 2222\n User root\n IdentityFile {folder}/ssh/user\n UserKnownHostsFile {folder}/ssh/known_hosts\n GlobalKnownHostsFile none\n"
    ));
    lan.write("ssh/sshd_config", &format!(
        "ListenAddress 127.0.0.1:2222\nHostKey {folder}/ssh/host\nAuthorizedKeysFile {folder}/ssh/authorized_keys\nPidFile none\n\
         StrictModes no\nPermitRootLogin yes\nUsePAM no\nAcceptEnv LANG LC_* CLAUDEOPS_*\nSubsystem sftp internal-sftp\n"
    ));
    lan.start("/usr/sbin/sshd", ["-D", "-e", "-f", &format!("{folder}/ssh/sshd_config")]);
    lan.until("grep -q 'Server listening' sshd.log");
}

/// A client of this host.
fn client(lan: &Lan, program: &str) -> Command {
    let mut command = Command::new(program);
    command.arg("-F").arg(lan.path("ssh/config")).stdin(Stdio::null()).current_dir(lan.path(""));
    command
}

fn ssh(lan: &Lan, command: &str) -> Output {
    client(lan, "ssh").args(["h", command]).output().unwrap()
}

fn ssh_with_input(lan: &Lan, command: &str, input: &[u8]) -> Output {
    fs::write(lan.path("input"), input).unwrap();
    client(lan, "ssh").args(["h", command]).stdin(File::open(lan.path("input")).unwrap()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asserts that a command is refused for a reason that contains this text.
#[track_caller]
fn refused(output: &Output, reason: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(126), "{stderr}");
    assert!(stderr.starts_with("opsctl: refused: ") && stderr.contains(reason), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

/// Asserts that a command is ended for a reason that contains this text, without a word of a secret.
#[track_caller]
fn refused_after(output: &Output, reason: &str) {
    let stderr = text(&output.stderr);
    assert!(!output.status.success() && stderr.contains(reason) && !stderr.contains("secret"), "{stderr}");
}

/// Asserts that a command has run and printed this.
#[track_caller]
fn printed(output: &Output, stdout: &str) {
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(0), stdout),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn passes_streams_and_exit_codes_of_allowed_commands_unchanged() {
    lan(|lan| {
        host(lan, "--tier 2");
        let output = ssh(lan, "echo out; echo err >&2; exit 7");
        assert_eq!(
            (output.status.code(), &*output.stdout, &*output.stderr),
            (Some(7), &b"out\n"[..], &b"err\n"[..])
        );
        let binary: Vec<u8> =
            (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let output = ssh_with_input(lan, "cat", &binary);
        assert!(output.stdout == binary, "{} bytes, {}", output.stdout.len(), text(&output.stderr));
        // Input that does not end does not hold up a command that reads none.
        let mut open = client(lan, "ssh")
            .args(["h", "uptime"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let input = open.stdin.take();
        assert!(open.wait().unwrap().success());
        drop(input);
        let output = ssh(lan, "kill -9 $$");
        assert_eq!(output.status.code(), Some(137), "{output:?}");
    });
}

#[test]
fn limits_restarts_by_the_ledger_of_the_host() {
    lan(|lan| {
        host(lan, "--tier 2");
        printed(&ssh(lan, "docker restart jellyfin"), "");
        printed(&ssh(lan, "sh -c 'docker restart jellyfin'"), "");
        refused(&ssh(lan, "docker restart jellyfin"), "jellyfin");
        refused(&ssh(lan, "reboot"), "rule power");
        assert_eq!(lan.sh("cat docker.log"), "restart jellyfin\nrestart jellyfin\n");
    });
}

#[test]
fn takes_the_tier_from_the_line_of_the_key_only() {
    lan(|lan| {
        host(lan, "--tier 1");
        let claims = ["-o", "SetEnv=CLAUDEOPS_TIER=3 LC_OPSCTL_TIER=3 CLAUDEOPS_DRY_RUN=false"];
        let output = client(lan, "ssh").args(claims).args(["h", "docker restart jellyfin"]).output().unwrap();
        refused(&output, "Tier 1");
        // Without the option, and without `policy.tier`, sessions observe.
        lan.sh("sed -i 's/ --tier 1//' ssh/authorized_keys");
        refused(&ssh(lan, "docker restart jellyfin"), "Tier 1");
        lan.sh("sed -i 's/policy: {/policy: {tier: 2, /' gate/hosts.yaml");
        printed(&ssh(lan, "docker restart jellyfin"), "");
        lan.sh("echo 'x: [' >> gate/hosts.yaml");
        refused(&ssh(lan, "uptime"), "the policy of this host cannot be used");
        lan.sh("rm gate/hosts.yaml");
        refused(&ssh(lan, "uptime"), "this host has no policy");
    });
}

#[test]
fn start_files_and_variables_of_the_client_do_not_change_what_runs() {
    lan(|lan| {
        host(lan, "--tier 2");
        printed(&ssh(lan, "docker ps"), "");
        assert_eq!(lan.sh("cat docker.log"), "ps\n");
        let set = ["-o", "SetEnv=LC_OPSCTL=x LC_ALL=zh_CN.gbk LANG=de_DE LC_TIME=C CLAUDEOPS_TIER=3"];
        let output = client(lan, "ssh")
            .args(set)
            .args(["h", "echo \"$HOME $PATH $LC_ALL $LANG $LC_TIME $LC_OPSCTL $TZ $CLAUDEOPS_TIER\""])
            .output();
        let home = lan.path("home");
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        printed(&output.unwrap(), &format!("{} {path} C.UTF-8     \n", home.display()));
    });
}

#[test]
fn reads_code_on_standard_input_before_it_runs() {
    lan(|lan| {
        host(lan, "--tier 2");
        printed(&ssh_with_input(lan, "bash -s -- a", b"echo \"got $1\"\n"), "got a\n");
        printed(&ssh_with_input(lan, "sort -r", b"a\nb\n"), "b\na\n");
        printed(&ssh_with_input(lan, "sh", b"docker restart jellyfin"), "");
        refused(&ssh_with_input(lan, "bash -s", b"echo a\nreboot\n"), "rule power");
        refused(&ssh_with_input(lan, "python3 -", b"import os; os.system('reboot')"), "depends on its input");
        printed(&ssh_with_input(lan, "xargs docker restart", b"jellyfin\n"), "");
        refused(&ssh_with_input(lan, "xargs cat", b"/srv/keys/k\n"), "Secret");
        refused(&ssh_with_input(lan, "xargs rm -f", b"/srv/locked/x\n"), "Protected");
        refused(
            &ssh_with_input(lan, "cd /tmp; while read -r f; do rm \"$f\"; done", b"/srv/locked/x\n"),
            "depends on its input",
        );
        refused(&ssh_with_input(lan, "bash -s", &vec![b'#'; 100_001]), "100 KB");
        // A script cannot read a part of itself, and a shell beside others gets none.
        let hidden = b"read x\n: <<'EOF'\necho hidden\nEOF\n";
        printed(&ssh_with_input(lan, "bash -s", hidden), "");
        refused(
            &ssh_with_input(lan, "bash; bash", b"exit\nreboot\n"),
            "a shell with a script on stdin runs alone",
        );
        refused(&ssh_with_input(lan, "bash -s", b"echo \xff"), "not text");
        assert_eq!(lan.sh("cat docker.log"), "restart jellyfin\nrestart jellyfin\n");
    });
}

#[test]
fn refuses_interactive_shells() {
    lan(|lan| {
        host(lan, "--tier 2");
        refused(&client(lan, "ssh").args(["-T", "h"]).output().unwrap(), "no interactive shell");
    });
}

#[test]
fn judges_files_of_scp_and_sftp_by_path_and_direction() {
    lan(|lan| {
        host(lan, "--tier 2");
        lan.write("local", "content\n");
        let copy = |options: &[&str], from: &str, to: &str| {
            let output = client(lan, "scp").arg("-q").args(options).args([from, to]).output().unwrap();
            (output.status.success(), text(&output.stderr))
        };
        for (protocol, reasons) in [("-s", ["Permission denied"; 2]), ("-O", ["Secret", "Protected"])] {
            let (done, stderr) = copy(&[protocol], "h:/srv/open/p", "got");
            assert!(done && lan.sh("cat got") == "plain\n", "{protocol} {stderr}");
            let (done, stderr) = copy(&[protocol, "-p"], "local", "h:/srv/open/new");
            assert!(
                done && lan.sh("cat /srv/open/new; rm /srv/open/new") == "content\n",
                "{protocol} {stderr}"
            );
            let (done, stderr) = copy(&[protocol], "h:/srv/keys/k", "stolen");
            assert!(
                !done && stderr.contains(reasons[0]) && !lan.path("stolen").exists(),
                "{protocol} {stderr}"
            );
            for to in ["h:/srv/locked/new", "h:/root/.ssh/authorized_keys", "h:/srv/locked"] {
                let (done, stderr) = copy(&[protocol], "local", to);
                assert!(!done && stderr.contains(reasons[1]), "{protocol} {to} {stderr}");
            }
        }
        let (done, stderr) = copy(&["-O", "-r"], "h:/srv", "stolen");
        assert!(!done && stderr.contains("Secret"), "{stderr}");
        let batch = |text: &str| {
            lan.write("batch", text);
            let output = client(lan, "sftp").args(["-b", "batch", "h"]).output().unwrap();
            (output.status.success(), text_of(&output))
        };
        assert!(batch("ls /srv/open\nput local /srv/open/a\nrename /srv/open/a /srv/open/b\nmkdir /srv/open/d\nrmdir /srv/open/d\nrm /srv/open/b\n").0);
        for refused in [
            "ln -s /srv/locked /srv/open/l",
            "rename /srv/open/p /srv/locked/p",
            "rm /srv/locked/x",
            "chmod 777 /srv/locked",
            "get /srv/keys/k",
        ] {
            let (done, output) = batch(refused);
            assert!(!done && output.contains("ermission denied"), "{refused}: {output}");
        }
        assert_eq!(lan.sh("ls -R /srv/locked /srv/open"), "/srv/locked:\n\n/srv/open:\np\n");
        // A path whose folder is a link is where that leads.
        lan.sh("ln -s /srv/locked /srv/open/l; ln -s /srv/keys /srv/open/k");
        for through in ["put local /srv/open/l/x", "get /srv/open/k/k stolen", "mkdir /srv/open/l/d"] {
            let (done, output) = batch(through);
            assert!(!done && output.contains("ermission denied"), "{through}: {output}");
        }
        assert_eq!(lan.sh("ls /srv/locked; rm /srv/open/l /srv/open/k"), "");
    });
}

#[test]
fn closes_the_folders_of_the_system_to_writes() {
    lan(|lan| {
        host(lan, "--tier 2");
        for command in [
            "echo x > /run/udev/rules.d/x.rules",
            "mkdir -p /usr/lib/x",
            "cp /srv/open/p /var/lib/dpkg/x",
            "f=$(cat /srv/open/p); echo x > $f",
        ] {
            let output = ssh(lan, command);
            assert_eq!(output.status.code(), Some(126), "{command}: {}", text(&output.stderr));
        }
        refused(&ssh(lan, "git -C /srv/open commit -m x"), "rule other");
        printed(&ssh(lan, "echo x > /srv/open/n && cat /srv/open/n"), "x\n");
    });
}

#[test]
fn judges_rsync_and_git_by_path_and_direction() {
    lan(|lan| {
        host(lan, "--tier 2");
        let shell = format!("ssh -F {}", lan.path("ssh/config").display());
        let rsync = |words: &[&str]| {
            let mut rsync = Command::new("rsync");
            let output = rsync.args(["-e", &shell]).args(words).current_dir(lan.path("")).output().unwrap();
            (output.status.success(), text_of(&output))
        };
        lan.write("from/a", "content\n");
        let (done, output) = rsync(&["-a", "from/", "h:/srv/open/copy/"]);
        assert!(done && lan.sh("cat /srv/open/copy/a") == "content\n", "{output}");
        let (done, output) = rsync(&["-a", "h:/srv/open/", "back/"]);
        assert!(done && lan.sh("cat back/p") == "plain\n", "{output}");
        for words in [
            &["-az", "--exclude", "x y", "--include", "p", "h:/srv/open/", "back/"][..],
            &["-a", "--protocol=29", "--exclude=x", "h:/srv/open/", "back/"],
            &["--list-only", "h:/srv/open/"],
            &["-a", "--exclude=x", "from/", "h:/srv/open/copy/"],
            &["-a", "--protocol=29", "from/", "h:/srv/open/copy/"],
        ] {
            let (done, output) = rsync(words);
            assert!(done, "{words:?}: {output}");
        }
        // A rule that has the server read a file, and one that no client sends.
        let (done, output) = rsync(&["-a", "-f", ": .rules", "h:/srv/open/", "stolen/"]);
        assert!(!done && output.contains("opsctl: refused: `rsync`"), "{output}");
        let stream = b"\x20\0\0\0\x03md5\x11\0\0\x07\x0d\0\0\0. /srv/keys/k\0\0\0\0";
        let sender = "rsync --server --sender -re.iLsfxCIvu --list-only . /srv/open/";
        refused_after(&ssh_with_input(lan, sender, stream), "a filter rule has the host read rules");
        for words in [
            &["-a", "h:/srv/keys/", "stolen/"][..],
            &["-a", "h:/srv/", "stolen/"],
            &["-a", "from/", "h:/srv/locked/"],
            &["-a", "--rsync-path=touch /srv/open/pwned; rsync", "from/", "h:/srv/open/copy/"],
            &["-a", "--secluded-args", "from/", "h:/srv/open/copy/"],
            &["-a", "--log-file=local.log", "-M--log-file=/srv/locked/log", "from/", "h:/srv/open/copy/"],
        ] {
            let (done, output) = rsync(words);
            assert!(!done && output.contains("opsctl: refused: "), "{words:?}: {output}");
        }
        assert_eq!(lan.sh("ls /srv/locked; ls /srv/open"), "copy\np\n");

        lan.sh("git init -q --bare /srv/open/r.git; git init -q work; git -C work -c user.name=x -c user.email=x@y commit -q --allow-empty -m x; git -C work push -q /srv/open/r.git HEAD:refs/heads/main");
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.env("GIT_SSH_COMMAND", &shell).args(words).current_dir(lan.path("")).output().unwrap()
        };
        let cloned = git(&["clone", "-q", "-b", "main", "h:/srv/open/r.git", "cloned"]);
        assert!(cloned.status.success(), "{}", text_of(&cloned));
        let pushed = git(&["-C", "cloned", "push", "origin", "HEAD:refs/heads/other"]);
        assert!(
            !pushed.status.success() && text_of(&pushed).contains("opsctl: refused: "),
            "{}",
            text_of(&pushed)
        );
    });
}

#[test]
fn tier_1_reads_files_and_writes_none() {
    lan(|lan| {
        host(lan, "--tier 1");
        lan.write("local", "content\n");
        for (protocol, reason) in [("-s", "Permission denied"), ("-O", "Tier 1")] {
            assert!(
                client(lan, "scp").args(["-q", protocol, "h:/srv/open/p", "got"]).status().unwrap().success()
            );
            let output =
                client(lan, "scp").args(["-q", protocol, "local", "h:/srv/open/n"]).output().unwrap();
            assert!(
                !output.status.success() && text(&output.stderr).contains(reason),
                "{}",
                text(&output.stderr)
            );
        }
        assert_eq!(lan.sh("ls /srv/open"), "p\n");
    });
}

#[test]
fn records_the_end_of_a_command_that_outlives_its_connection() {
    lan(|lan| {
        host(lan, "--tier 2");
        let folder = lan.path("").display().to_string();
        lan.write(
            "bin/docker",
            &format!(
                "#!/bin/sh\necho \"$@\" >> {folder}docker.log\nsleep 2\necho done >> {folder}docker.log\n"
            ),
        );
        let mut started = client(lan, "ssh").args(["h", "docker restart jellyfin"]).spawn().unwrap();
        lan.until("[ -s docker.log ]");
        started.kill().unwrap();
        started.wait().unwrap();
        lan.until("grep -q done docker.log");
        let rows = "sqlite3 state/claudeops.db 'select service, success from cooldown_actions'";
        lan.until(&format!("[ \"$({rows})\" = 'jellyfin|1' ]"));
    });
}

#[test]
fn records_the_end_of_a_command_that_ends_with_its_terminal() {
    lan(|lan| {
        host(lan, "--tier 2");
        lan.sh("sed -i 's/^restrict,/restrict,pty,/' ssh/authorized_keys");
        let folder = lan.path("").display().to_string();
        lan.write("bin/docker", &format!("#!/bin/sh\necho \"$@\" >> {folder}docker.log\nsleep 20\n"));
        let mut started = client(lan, "ssh").args(["-tt", "h", "docker restart jellyfin"]).spawn().unwrap();
        lan.until("[ -s docker.log ]");
        started.kill().unwrap();
        started.wait().unwrap();
        let rows = "sqlite3 state/claudeops.db 'select service, success from cooldown_actions'";
        lan.until(&format!("[ \"$({rows})\" = 'jellyfin|0' ]"));
    });
}

#[test]
fn check_prints_verdicts_and_results_of_the_tests_beside_the_policy() {
    lan(|lan| {
        host(lan, "--tier 2");
        lan.write(
            "gate/tests.yaml",
            "tests:\n  - {command: reboot, expect: {decision: deny, rule: never}}\n",
        );
        let policy = lan.path("gate/hosts.yaml");
        let check =
            || lan.opsctl(&["gate", "ssh", "--check", "--tier", "2", "--policy", policy.to_str().unwrap()]);
        let ran = check();
        assert_eq!(ran.exit_code, Some(0), "{ran:?}");
        for line in ["valid, tier 2\n", "allow    uptime\n", "deny     reboot: ", "ok 1 - reboot"] {
            assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
        }
        lan.write("gate/tests.yaml", "tests:\n  - {command: reboot, expect: {decision: allow}}\n");
        assert_eq!(check().exit_code, Some(1));
    });
}

/// The time that the gate adds to a command, printed with `--nocapture`.
#[test]
fn adds_little_time_to_a_connection() {
    lan(|lan| {
        host(lan, "--tier 2");
        let median = || {
            let mut times: Vec<Duration> = (0..9)
                .map(|_| {
                    let started = Instant::now();
                    printed(&ssh(lan, "true"), "");
                    started.elapsed()
                })
                .collect();
            times.sort();
            times[4]
        };
        let with = median();
        lan.sh("sed -i 's/command=\"[^\"]*\"/command=\"true\"/' ssh/authorized_keys");
        let without = median();
        eprintln!("median of 9 connections: {with:?} with the gate, {without:?} without");
        assert!(with < without + Duration::from_secs(2), "{with:?} {without:?}");
    });
}

fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

//! The broker of ssh, with real clients against a real sshd.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use opsctl::machine::link::address::Address;
use opsctl::machine::link::caller;
use opsctl::machine::link::message::{Call, RecordCall, Request, SessionFacts};
use opsctl_ledger::sessions::client_runs::NewRun;

use crate::fake_client::hook;
use crate::lab::{Place, script};
use crate::sandbox::{self, denied, passes};

/// A policy that protects files in a folder of the host.
const GUARDED: &str = "policy: {protect: [{path: '**/opsctl-app/guarded/**', where: any}, {path: '**/opsctl-app/conf', where: any}, {path: /srv/opsctl-none/none/x, where: any}]}\n";

/// Asserts the exit code of a shell command on the agent's side; returns what it printed.
fn ends_with(place: &Place, code: i32, text: &str) -> (String, String) {
    let (found, stdout, stderr) = place.said(text);
    assert_eq!(found, Some(code), "{text}\nstdout: {stdout}\nstderr: {stderr}");
    (stdout, stderr)
}

/// Asserts that a shell command on the agent's side fails; returns what it printed on stderr. Of programs that call ssh, the exit code
/// depends on what they notice first.
fn fails(place: &Place, text: &str) -> String {
    let (found, stdout, stderr) = place.said(text);
    assert_ne!(found, Some(0), "{text}\nstdout: {stdout}\nstderr: {stderr}");
    stderr
}

/// Waits until a condition holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn commands_run_with_their_streams_and_exit_codes() {
    let place = Place::new();
    assert_eq!(
        ends_with(&place, 3, "ssh ie01 'echo out; echo err >&2; exit 3'"),
        ("out\n".into(), "err\n".into())
    );
    for host in ["192.0.2.1", "ie01.lan", "-p 22 ie01", "ssh://ie01"] {
        assert_eq!(ends_with(&place, 0, &format!("ssh {host} echo a \"b  c\"")).0, "a b c\n", "{host}");
    }
    // Several lines and bytes that are not UTF-8, options of the client, and options after the host.
    assert_eq!(ends_with(&place, 0, "ssh ie01 $'echo a\\necho b'").0, "a\nb\n");
    assert_eq!(place.run("ssh ie01 $'printf \\'\\xff\\xfe\\''").stdout, b"\xff\xfe");
    assert_eq!(
        ends_with(&place, 0, "ssh -q -T -n -v -C -4 -x -o ConnectTimeout=5 ie01 -o BatchMode=yes echo x").0,
        "x\n"
    );
    assert_eq!(ends_with(&place, 0, "ssh -o RemoteCommand='echo x; echo y' ie01").0, "x\ny\n");
    // A terminal: not without one here, and with force.
    assert_eq!(ends_with(&place, 0, "ssh -t ie01 'test -t 1 || echo none'").0, "none\n");
    assert_eq!(ends_with(&place, 0, "ssh -tt ie01 'test -t 1 && echo terminal'").0, "terminal\n");
    // A command that a signal ends.
    ends_with(&place, 255, "ssh ie01 'kill -9 $$'");
}

#[test]
fn long_commands_run_and_too_long_ones_fail_as_with_ssh() {
    let place = Place::at_tier(3, "policy: {tiers: {3: {effects: [reads, changes, unknown]}}}\n");
    for length in [100_000, 130_000] {
        let call = format!("ssh ie01 \"echo $(printf '%{length}s' | tr ' ' x)\" | wc -c");
        assert_eq!(ends_with(&place, 0, &call).0.trim(), (length + 1).to_string());
    }
    let (_, stderr) = ends_with(&place, 255, "x=$(printf '%100000s' | tr ' ' x); ssh ie01 echo $x $x");
    assert!(stderr.contains("are too long"), "{stderr}");
    // More than the reader follows.
    let usual = Place::new();
    let (_, stderr) = ends_with(&usual, 255, "ssh ie01 \"echo $(printf '%130000s' | tr ' ' x)\"");
    assert!(stderr.contains("Tier 3 only runs what opsctl understands"), "{stderr}");
}

#[test]
fn twenty_megabytes_pass_unchanged_each_way() {
    let place = Place::new();
    ends_with(&place, 0, "head -c 20000000 /dev/urandom >up && ssh ie01 \"cat >$H/up\" <up && cmp up $H/up");
    ends_with(&place, 0, "ssh ie01 \"cat $H/up\" | cmp - up");
    ends_with(&place, 0, "ssh ie01 cat <up | cmp - up");
    ends_with(&place, 0, "seq 2000000 >text; ssh ie01 cat <text | cmp - text");
}

#[test]
fn options_that_weaken_or_redirect_are_refused_in_one_line() {
    let place = Place::new();
    for option in [
        "-J x",
        "-L 1:h:2",
        "-A",
        "-F /tmp/x",
        "-i /tmp/x",
        "-W h:1",
        "-N",
        "-M",
        "-o ProxyCommand=x",
        "-o StrictHostKeyChecking=no",
        "-Z",
    ] {
        let (stdout, stderr) = ends_with(&place, 255, &format!("ssh {option} ie01 touch $H/ran"));
        assert!(
            stdout.is_empty() && stderr.contains("is refused: ") && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
    for (call, why) in [
        ("ssh evil.example id", "`evil.example` is not in hosts.yaml"),
        ("ssh tv id", "`tv` has no `ssh`"),
        ("ssh bob@ie01 id", "leave the user out"),
        ("ssh -p 2222 ie01 id", "leave the port out"),
        ("ssh ie01", "no interactive shell"),
        ("ssh -- ie01 '-v; id'", "begins with `-`"),
        ("ssh -s ie01 netconf", "the subsystem `netconf` is refused"),
    ] {
        let (_, stderr) = ends_with(&place, 255, call);
        assert!(stderr.contains(why) && stderr.lines().count() == 1, "{call}: {stderr}");
    }
    assert!(!place.path("ran").exists());
}

#[test]
fn a_host_that_cannot_be_reached_ends_with_255_and_the_reason() {
    let place = Place::new();
    std::fs::write(place.path("known_hosts"), "").unwrap();
    let (_, stderr) = ends_with(&place, 255, "ssh ie01 id");
    assert!(stderr.contains("Host key verification failed"), "{stderr}");
}

#[test]
fn a_third_restart_is_refused_and_not_run() {
    let place = Place::new();
    for _ in 0..2 {
        ends_with(&place, 0, "ssh ie01 docker restart jellyfin");
    }
    let (_, stderr) = ends_with(&place, 255, "ssh ie01 'docker restart jellyfin'");
    assert!(stderr.contains("Cooldown limit"), "{stderr}");
    assert_eq!(place.ran(), "docker restart jellyfin\n".repeat(2));
    ends_with(&place, 255, "ssh ie01 reboot");
    let settled = place.guarded.guard.sql("SELECT count(*) FROM cooldown_actions");
    assert_eq!(settled, "2");
}

#[test]
fn a_call_that_the_hook_has_allowed_counts_once() {
    let place = Place::new();
    let command = "ssh ie01 docker restart jellyfin";
    passes(&place.guarded.agent.before("t1", command));
    ends_with(&place, 0, command);
    passes(&place.guarded.agent.after("t1", command));
    assert_eq!(place.guarded.guard.sql("SELECT count(*) FROM cooldown_actions"), "1");
    // A script whose restarts the hook cannot see: the gate counts each.
    ends_with(&place, 0, command);
    let reason = denied(&place.guarded.agent.before("t2", command));
    assert!(reason.contains("Cooldown limit"), "{reason}");
    ends_with(&place, 255, command);
    assert_eq!(place.ran(), "docker restart jellyfin\n".repeat(2));
}

#[test]
fn an_approval_covers_the_approved_call_only_and_without_input() {
    let place = Place::at_tier(2, "policy:\n  ask: [{about: unknown, limit: 9}]\n");
    let key = place.guarded.guard.opsctl(&["key"], b"");
    for side in [&place.guarded.guard, &place.guarded.agent] {
        let hosts = std::fs::read_to_string(side.path("hosts.yaml")).unwrap();
        side.write("hosts.yaml", &format!("{hosts}  {}\n", key.stdout.trim()));
    }
    script(&place.path("bin/frobmark"), "echo \"ran $*\"; cat");
    let session = "export CLAUDE_SESSION_ID=sess-abc-123";
    let long = "x".repeat(130);
    let mut question = 0;
    for (approved, asked, same) in [
        ("frobmark a", "frobmark a", true),
        ("frobmark a && frobmark b", "frobmark a; frobmark b", false),
        ("frobmark a", "X=1 frobmark a", false),
        ("frobmark \u{FFFD}", "frobmark '$'\\xff''", false),
        (&format!("frobmark {long}-one"), &format!("frobmark {long}-two"), false),
    ] {
        question += 1;
        let id = format!("t{question}");
        let call = format!("ssh ie01 '{approved}'");
        let asks = || hook(&place.guarded.agent, &sandbox::call(&id, &call));
        let run = asks();
        assert!(run.stdout.contains("Question"), "{run:?}");
        let run = place.guarded.guard.opsctl(&["approve", &question.to_string()], b"");
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(!asks().stdout.contains("deny"));
        let (code, stdout, stderr) = place.said(&format!("{session}; ssh ie01 '{asked}' <<<'input'"));
        assert_eq!(code == Some(0), same, "{approved} / {asked}: {stderr}");
        assert!(!stdout.contains("input"), "{stdout}");
        // Once.
        assert_eq!(place.said(&format!("{session}; ssh ie01 '{asked}'")).0, Some(255), "{asked}");
    }
}

#[test]
fn scripts_on_stdin_are_read_before_they_run() {
    let place = Place::new();
    for call in ["ssh ie01 bash -s", "ssh ie01 sh", "ssh ie01", "ssh -T ie01 bash -eu -s -- a b"] {
        assert_eq!(
            ends_with(&place, 0, &format!("{call} <<<'echo from the script'")).0,
            "from the script\n",
            "{call}"
        );
        let (_, stderr) = ends_with(
            &place,
            255,
            &format!("printf 'touch {}\\nreboot\\n' | {call}", place.path("ran").display()),
        );
        assert!(stderr.contains("reboot"), "{call}: {stderr}");
    }
    ends_with(&place, 0, "ssh ie01 bash -s <<<'docker restart jellyfin'");
    ends_with(&place, 0, "ssh ie01 xargs docker restart <<<jellyfin");
    ends_with(&place, 255, "ssh ie01 bash -s <<<'docker restart jellyfin'");
    let (_, stderr) = ends_with(&place, 255, "head -c 1100000 /dev/zero | tr '\\0' '#' | ssh ie01 bash");
    assert!(stderr.contains("more than 100 KB"), "{stderr}");
    let (_, stderr) = ends_with(&place, 255, "head -c 1000 /dev/urandom | ssh ie01 bash");
    assert!(stderr.contains("is not text"), "{stderr}");
    assert!(!place.path("ran").exists());
    assert_eq!(place.ran(), "docker restart jellyfin\n".repeat(2));
}

#[test]
fn a_script_cannot_read_a_part_of_itself() {
    let place = Place::new();
    let restart = "docker restart jellyfin";
    for script in [
        format!("read x\n: <<'EOF'\n{restart}\nEOF\n"),
        format!("read -n1 x\n#{restart}\n"),
        format!("head -c 1 >/dev/null\n#{restart}\n"),
        format!("dd bs=1 count=1 of=/dev/null 2>/dev/null\n#{restart}\n"),
        format!("mapfile -n 1 x\n: <<'EOF'\n{restart}\nEOF\n"),
    ] {
        for shell in ["bash -s", "bash", ""] {
            place.said(&format!("ssh ie01 {shell} <<'SCRIPT'\n{script}SCRIPT"));
        }
        for command in ["bash; bash", "head -c 9 >/dev/null; bash", "cat | bash", "read x; bash"] {
            let call = format!("ssh ie01 '{command}' <<'SCRIPT'\n{script}SCRIPT");
            let (_, stderr) = ends_with(&place, 255, &call);
            assert!(stderr.contains("depends on its input"), "{command}: {stderr}");
        }
    }
    assert_eq!(place.ran(), "");
    let arguments = "ssh ie01 bash -s -- a 'b' <<<'echo $0 $2 $1; cat'";
    assert_eq!(ends_with(&place, 0, arguments).0, "bash b a\n");
}

/// Texts that dash reads otherwise than bash, with a program that only dash runs.
const OTHERWISE: [&str; 3] =
    ["id &>/dev/null $H/mk $H/ran", r"echo \$'\\'; $H/mk $H/ran; #'", "echo a\nid &>/dev/null $H/mk $H/ran"];

#[test]
fn login_shell_that_is_not_bash_does_not_change_what_runs() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for stated in ["bash", "sh"] {
        let place = Place::with_dash(1, stated);
        ends_with(&place, 0, "printf '#!/bin/sh\ntouch \"$1\"\n' >$H/mk; chmod +x $H/mk");
        for text in OTHERWISE {
            let (code, _, stderr) = place.said(&format!("ssh ie01 \"{text}\""));
            assert!(!place.path("ran").exists(), "{stated}: {text}");
            // As sh, the program is a command of its own.
            assert!(stated == "bash" || code == Some(255) && stderr.contains("Tier 1"), "{text}: {stderr}");
        }
        assert_eq!(ends_with(&place, 0, "ssh ie01 'echo \"a  b\" \\! 2>&1 | cat'").0, "a  b !\n");
        assert_eq!(ends_with(&place, 0, "ssh ie01 $'echo a\nprintf %s \\'b\\\\c\\''").0, "a\nb\\c");
        assert_eq!(ends_with(&place, 0, "ssh ie01 bash -s -- a <<<'echo \"$1\"'").0, "a\n");
        let (_, stderr) = ends_with(&place, 255, "echo /etc/shadow | ssh ie01 xargs cat");
        assert!(stderr.contains("Secret: `/etc/shadow`"), "{stderr}");
        let (_, stderr) = ends_with(&place, 255, "echo /etc/shadow | ssh ie01 'head -1 $(cat)'");
        assert!(stderr.contains("depends on its input"), "{stderr}");
    }
    let place = Place::with_dash(3, "bash");
    let arrays = "ssh ie01 'a=(x y); echo \"${a[1]}\"'";
    assert_eq!(ends_with(&place, 0, arrays).0, "y\n");
}

#[test]
fn transfers_work_with_a_login_shell_that_is_not_bash() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for stated in ["bash", "sh"] {
        let place = Place::with_dash(3, stated);
        ends_with(&place, 0, "mkdir -p d $H/d; seq 99 >'d/a b'; seq 9 >$H/d/n");
        for call in [
            "scp -q -O 'd/a b' \"ie01:'$H/d/a b'\" && cmp 'd/a b' \"$H/d/a b\"",
            "scp -q -O \"ie01:$H/d/*\" . && cmp n $H/d/n",
            "scp -q 'd/a b' ie01:$H/d/s && cmp 'd/a b' $H/d/s",
            "rsync -a d/ ie01:$H/r/ && cmp 'd/a b' \"$H/r/a b\"",
            "rsync -a ie01:$H/d/ x/ && cmp 'd/a b' 'x/a b'",
        ] {
            ends_with(&place, 0, call);
        }
    }
}

#[test]
fn locale_of_a_host_does_not_change_what_runs() {
    let place = Place::at_tier(1, "");
    let (stdout, _) = ends_with(&place, 0, "ssh ie01 'echo \"你\\\"; x; 你\"'");
    assert_eq!(stdout, "你\"; x; 你\n");
    let (stdout, _) = ends_with(&place, 0, "ssh ie01 'echo \"你\\\"; x; 你\" | wc -m'");
    assert_eq!(stdout, "9\n");
    let (_, stderr) = ends_with(&place, 255, "ssh ie01 'echo \"你\\\"; x; 你\"; env LC_ALL=zh_CN.gbk id'");
    assert!(stderr.contains("variable of the locale"), "{stderr}");
}

#[test]
fn configuration_that_a_session_may_write_is_not_checked() {
    let place = Place::at_tier(1, "");
    for command in [
        "visudo -c -f -",
        "visudo -cf /tmp/x",
        "visudo -c --file=/home/x",
        "visudo -c /srv/x",
        "logrotate -d /tmp/x",
        "named-checkconf /home/x",
        "sshd -t -f /etc/../tmp/x",
        "testparm /srv/x",
        "apachectl -t -f /home/x",
        "dhcpd -t -cf /home/x",
    ] {
        let (_, stderr) = ends_with(&place, 255, &format!("ssh ie01 {command} <<<'@include /etc/shadow'"));
        assert!(
            stderr.contains("Tier 1 only reads") || stderr.contains("depends on its input"),
            "{command}: {stderr}"
        );
    }
    for command in
        ["visudo -c", "visudo -cf /etc/sudoers.d/opsctl-none", "logrotate -d /etc/opsctl-none.conf"]
    {
        let (_, _, stderr) = place.said(&format!("ssh ie01 {command}"));
        assert!(!stderr.contains("Tier 1"), "{command}: {stderr}");
    }
}

#[test]
fn words_of_a_command_stay_in_the_audit_when_they_are_stated_as_secrets() {
    let place = Place::new();
    let call = "FOO_TOKEN='docker restart jellyfin' BAR_TOKEN=jellyfin KEY_TOKEN=Abc123Def456 ssh ie01 docker restart jellyfin";
    ends_with(&place, 0, call);
    let subjects = place.guarded.guard.sql("SELECT group_concat(command) FROM hook_decisions");
    assert!(subjects.contains("docker restart jellyfin"), "{subjects}");
    let (stdout, _) = ends_with(&place, 0, "FOO_TOKEN='some words of it' ssh ie01 echo some words of it");
    assert_eq!(stdout, "[redacted]\n");
}

#[test]
fn names_on_stdin_are_judged_or_refused() {
    let place = Place::new();
    for command in [
        "read f; head -1 \"$f\"",
        "read x; read f; head -1 \"$f\"",
        "while read f; do head -1 \"$f\"; done",
        "mapfile -t a; head -1 \"${a[@]}\"",
        "head -1 $(cat)",
        "grep -h root -- $(</dev/stdin)",
        "true; xargs cat",
        "tar -c -T -",
        "sort --files0-from=-",
        "awk \"{while((getline l < \\$0)>0) print l}\"",
        "cpio -o",
        "docker start -ai jellyfin",
        "docker start -a -i jellyfin",
        "docker container start --interactive jellyfin",
        "podman start -li",
        "sudo docker start -ai jellyfin",
        "env docker start -i jellyfin",
    ] {
        let call = format!("printf '/etc/shadow\\n/etc/shadow\\n' | ssh ie01 '{command}'");
        let (stdout, stderr) = ends_with(&place, 255, &call);
        assert!(stdout.is_empty() && stderr.contains("depends on its input"), "{command}: {stderr}");
    }
    for command in ["xargs cat", "xargs -0 head"] {
        let (stdout, stderr) = ends_with(&place, 255, &format!("echo /etc/shadow | ssh ie01 {command}"));
        assert!(stdout.is_empty() && stderr.contains("Secret: `/etc/shadow`"), "{command}: {stderr}");
    }
    for (command, printed) in [("cat", "x\n"), ("wc -l", "1\n"), ("xargs echo", "x\n"), ("echo y", "y\n")] {
        assert_eq!(ends_with(&place, 0, &format!("echo x | ssh ie01 '{command}'")).0, printed);
    }
}

#[test]
fn a_program_with_the_name_of_a_transfer_is_judged_as_a_program() {
    let place = Place::new();
    let program =
        "mkdir -p $H/own; printf '#!/bin/sh\\ntouch %s/ran\\n' $H >$H/own/NAME; chmod +x $H/own/NAME";
    for (name, arguments) in [("sftp-server", ""), ("scp", "-t /tmp/x"), ("rsync", "--server . /tmp/x")] {
        ends_with(&place, 0, &program.replace("NAME", name));
        let (_, stderr) = ends_with(&place, 255, &format!("ssh ie01 $H/own/{name} {arguments} </dev/zero"));
        assert!(stderr.contains("is a file that may do anything"), "{stderr}");
    }
    assert!(!place.path("ran").exists());
}

#[test]
fn transfers_of_folders_are_judged_with_what_is_below() {
    let place = Place::at_tier(3, GUARDED);
    for call in ["scp -q -O -r ie01:/etc/ x", "rsync -a ie01:/etc/ x", "rsync -r ie01:/etc x"] {
        let stderr = fails(&place, call);
        assert!(stderr.contains("it reads every file that it finds in `/etc"), "{call}: {stderr}");
    }
    // The client states the name in a folder after the judgement.
    ends_with(&place, 0, "mkdir $H/opsctl-app; echo own >$H/opsctl-app/conf; echo other >conf");
    for (call, why) in [
        ("scp -O conf ie01:$H/opsctl-app", "the target is a folder"),
        ("scp -O conf ie01:$H/opsctl-app/", "the target is a folder"),
        ("scp -O conf ie01:$H/opsctl-app/conf", "Protected: "),
        ("mkdir -p d; scp -O -r d ie01:/srv/opsctl-none/none", "Protected: "),
    ] {
        let stderr = fails(&place, call);
        assert!(stderr.contains(why), "{call}: {stderr}");
    }
    ends_with(&place, 0, "grep own $H/opsctl-app/conf");
    for options in [
        "-ve.iLsfxCIvu . \"'-rL'\"",
        "-ve.iLsfxCIvu . '\\-rL'",
        "-e . /etc shadow",
        "-re . /etc",
        "--log-format x . /etc",
        ". /etc /root",
        ". --daemon",
    ] {
        let (_, stderr) = ends_with(&place, 255, &format!("ssh ie01 rsync --server --sender {options}"));
        assert!(stderr.contains("is refused"), "{options}: {stderr}");
    }
    // The receiver makes no link to what is outside.
    let push = "mkdir -p s; seq 9 >s/f; ln -s /etc/shadow s/l; ln -s f s/m; rsync -a s/ ie01:$H/s/";
    ends_with(&place, 0, &format!("{push}; cmp s/f $H/s/m && [ ! -L $H/s/l ]"));
    let stderr = fails(&place, "git archive --remote=ie01:$H/r.git HEAD");
    assert!(stderr.contains("`git archive` of another host is refused"), "{stderr}");
}

#[test]
fn links_do_not_hide_paths_from_rules() {
    let place = Place::at_tier(3, GUARDED);
    ends_with(
        &place,
        0,
        "cd $H; mkdir -p d opsctl-app/guarded; seq 9 >d/f; cp d/f opsctl-app/guarded/g; ln -s f d/m",
    );
    ends_with(
        &place,
        0,
        "cd $H/d; ln -s /etc etc; ln -s /etc/shadow s; ln -s ../opsctl-app/guarded a; ln -s a/g g",
    );
    let sftp = |request: &str| format!("touch f; echo {request} | sftp -q -b - ie01");
    for request in ["get $H/d/etc/shadow x", "get $H/d/s x"] {
        let stderr = fails(&place, &sftp(request));
        assert!(stderr.contains("Secret: `/etc/shadow`"), "{request}: {stderr}");
    }
    for request in
        ["rm $H/d/a/g", "put f $H/d/a/g", "put f $H/d/g", "put f $H/d/a/new", "rename $H/d/f $H/d/a/g"]
    {
        let stderr = fails(&place, &sftp(request));
        assert!(stderr.contains("Protected: "), "{request}: {stderr}");
    }
    ends_with(&place, 0, "cmp $H/d/f $H/opsctl-app/guarded/g && [ ! -e $H/opsctl-app/guarded/new ]");
    for request in [
        "symlink /etc $H/d/l",
        "symlink / $H/d/l",
        "symlink ../../../../../../../etc $H/d/l",
        "symlink $H/opsctl-app/guarded/g $H/d/l",
    ] {
        let stderr = fails(&place, &sftp(request));
        let reasons = ["Tier 3 only runs", "Protected: ", "cannot be determined"];
        assert!(reasons.iter().any(|reason| stderr.contains(reason)), "{request}: {stderr}");
    }
    let requests =
        "printf 'get %s/d/m x\\nput x %s/d/new\\nmkdir %s/d/n\\nsymlink %s/d/f %s/d/l\\n' $H $H $H $H $H";
    let same = "cmp x $H/d/f && cmp x $H/d/new && cmp x $H/d/l && [ -d $H/d/n ]";
    ends_with(&place, 0, &format!("{requests} | sftp -q -b - ie01; {same}"));
}

#[test]
fn the_folder_of_connections_is_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    // The arguments of the guard's ssh, which runs on this machine, too.
    let (running, _) = ends_with(&place, 0, "ssh ie01 \"pgrep -af $H/config\"");
    let socket = running.split_whitespace().find(|word| word.contains("/opsctl-ssh-")).unwrap();
    let folder = std::path::Path::new(socket).parent().unwrap();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
}

#[test]
fn secrets_are_removed_from_output_but_not_from_data() {
    let place = Place::new();
    let (stdout, stderr) = ends_with(
        &place,
        1,
        "ssh ie01 'echo DB_PASSWORD=hunter2; echo token: ghp_0123456789abcdefghijABCDEFGHIJ012345 >&2; exit 1'",
    );
    assert_eq!((stdout.as_str(), stderr.contains("ghp_")), ("DB_PASSWORD=[redacted]\n", false), "{stderr}");
    // Output that comes in pieces arrives in pieces.
    let mut child =
        place.command("ssh ie01 'echo first; sleep 5; echo last'").stdout(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    let mut first = [0; 6];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert!(began.elapsed() < Duration::from_secs(4));
    child.kill().unwrap();
    child.wait().unwrap();
    let open = Place::at_tier(3, "policy: {redact_output: false}\n");
    assert_eq!(ends_with(&open, 0, "ssh ie01 echo DB_PASSWORD=hunter2").0, "DB_PASSWORD=hunter2\n");
}

#[test]
fn a_session_of_tier_1_only_reads() {
    let place = Place::at_tier(1, "");
    ends_with(&place, 0, "ssh ie01 uptime");
    let (_, stderr) = ends_with(&place, 255, "ssh ie01 \"touch /etc/opsctl-test\"");
    assert!(stderr.contains("Tier 1 only reads"), "{stderr}");
    for call in ["scp f ie01:/srv/f", "scp -O f ie01:/srv/f", "echo put f /srv/f | sftp -b - ie01"] {
        let (_, stderr) = ends_with(&place, 1, &format!("echo x >f; {call}"));
        assert!(stderr.contains("Tier 1 only reads"), "{call}: {stderr}");
    }
    // A transfer is no note of a command, also where commands may write some.
    ends_with(
        &place,
        0,
        "ssh ie01 \"seq 9 >$H/kept\"; scp -q ie01:$H/kept g; scp -q -O ie01:$H/kept g; cmp g $H/kept",
    );
    for call in [
        "scp f ie01:$H/sent",
        "scp -O f ie01:$H/sent",
        "mkdir -p d; scp -O -r d ie01:$H/sent",
        "rsync f ie01:$H/sent",
        "echo put f $H/sent | sftp -b - ie01",
        "echo mkdir $H/sent | sftp -b - ie01",
        "echo rm $H/kept | sftp -b - ie01",
        "echo chmod 700 $H/kept | sftp -b - ie01",
        "echo rename $H/kept $H/sent | sftp -b - ie01",
    ] {
        let stderr = fails(&place, &format!("echo x >f; {call}"));
        assert!(stderr.contains("Tier 1 only reads"), "{call}: {stderr}");
    }
    assert!(!place.path("sent").exists() && place.path("kept").exists());
}

#[test]
fn a_repository_runs_nothing_before_a_push_is_judged() {
    let place = Place::new();
    ends_with(
        &place,
        0,
        "git init -q --bare $H/r.git; git init -q --bare $H/a.git; echo $H/a.git/objects >$H/r.git/objects/info/alternates; git -C $H/r.git config core.alternateRefsCommand \"touch $H/ran; true\"",
    );
    for call in ["git-receive-pack $H/r.git", "git receive-pack $H/r.git"] {
        let (_, stderr) = ends_with(&place, 255, &format!("ssh ie01 \"{call}\" </dev/null"));
        assert!(stderr.contains("`git-receive-pack`") || stderr.contains("`git receive-pack`"), "{stderr}");
    }
    assert!(!place.path("ran").exists());
}

#[test]
fn commands_among_the_lines_of_a_message_are_judged() {
    let place = Place::new();
    for command in ["mail -I root", "mail -~ root", "s-nail -I root"] {
        let (_, stderr) = ends_with(&place, 255, &format!("echo '~!reboot' | ssh ie01 {command}"));
        assert!(stderr.contains("rule power"), "{command}: {stderr}");
        let (_, stderr) = ends_with(&place, 255, &format!("echo '~!reboot' | ssh ie01 'true; {command}'"));
        assert!(stderr.contains("depends on its input"), "{command}: {stderr}");
    }
}

#[test]
fn the_guards_record_of_the_session_determines_the_tier() {
    let place = Place::new();
    let new = NewRun { session: "s1".into(), tier: 1, model: "m".into(), log: None, parent: None };
    let request =
        Request { version: 1, call: Call::Record(RecordCall::Begin(new)), session: SessionFacts::default() };
    let address = Address::Unix(place.guarded.socket());
    caller::call(&address, (&request, &[]), Duration::from_secs(5), &mut |_| serde_json::Value::Null)
        .unwrap();
    for stated in ["", "CLAUDE_SESSION_ID=s1 ", "CLAUDE_SESSION_ID=other ", "CLAUDEOPS_TIER= "] {
        ends_with(&place, 0, &format!("{stated}ssh ie01 uptime"));
        let (_, stderr) = ends_with(&place, 255, &format!("{stated}ssh ie01 touch /etc/opsctl-test"));
        assert!(stderr.contains("Tier 1 only reads"), "{stated}: {stderr}");
    }
}

#[test]
fn files_are_copied_with_the_rules_for_their_paths() {
    let place = Place::at_tier(3, "policy: {protect: [{path: /srv/protected/**, where: any}]}\n");
    std::fs::create_dir(place.path("d")).unwrap();
    for mode in ["", "-O"] {
        ends_with(
            &place,
            0,
            &format!("head -c 300000 /dev/urandom >f; scp -q {mode} f ie01:$H/f && cmp f $H/f"),
        );
        ends_with(&place, 0, &format!("scp -q {mode} ie01:$H/f g && cmp g $H/f; rm g $H/f"));
        ends_with(
            &place,
            0,
            &format!(
                "mkdir -p t/u; cp f t/u/; chmod 640 t/u/f; scp -q -r -p {mode} t ie01:$H/d && cmp f $H/d/t/u/f && test $(stat -c %a $H/d/t/u/f) = 640; rm -r $H/d/t"
            ),
        );
        let (_, stderr) = ends_with(&place, 1, &format!("scp {mode} f ie01:/srv/protected/x"));
        assert!(stderr.contains("Protected: ") && stderr.contains("/srv/protected/x"), "{mode}: {stderr}");
        let (_, stderr) = ends_with(&place, 1, &format!("scp {mode} ie01:/etc/shadow g"));
        assert!(stderr.contains("/etc/shadow"), "{mode}: {stderr}");
    }
    ends_with(
        &place,
        0,
        "printf 'put f %s/f\\nget %s/f h\\nls %s\\nchmod 600 %s/f\\nrename %s/f %s/i\\nrm %s/i\\n' $H $H $H $H $H $H $H | sftp -q -b - ie01; cmp f h",
    );
    let (_, stderr) = ends_with(&place, 1, "echo rm /srv/protected/x | sftp -b - ie01");
    assert!(stderr.contains("Protected: ") && stderr.contains("/srv/protected/x"), "{stderr}");
    ends_with(&place, 0, "echo ls / | sftp -s /usr/lib/openssh/sftp-server -b - ie01");
}

#[test]
fn rsync_and_git_pass_by_direction_and_path() {
    let place = Place::at_tier(
        3,
        "policy: {protect: [{path: /srv/protected/**, where: any}], never: {data: allow}}\n",
    );
    ends_with(&place, 0, "mkdir -p s/t; seq 1000 >s/t/f; rsync -a s/ ie01:$H/s/ && cmp s/t/f $H/s/t/f");
    ends_with(&place, 0, "rsync -a ie01:$H/s/ back/ && cmp s/t/f back/t/f");
    ends_with(&place, 0, "rsync -a --exclude x s/t/f ie01:$H/one && cmp s/t/f $H/one");
    for call in [
        "rsync -az --exclude 'x y' --include z ie01:$H/s/ back/",
        "rsync -a --protocol=29 --exclude x ie01:$H/s/ back/",
        "rsync --list-only ie01:$H/s/",
        "rsync -a --delete --exclude x s/ ie01:$H/s/",
        "rsync -a --delete --protocol=29 s/ ie01:$H/s/",
        "rsync -a --delete-excluded -f 'P foo' s/ ie01:$H/s/ && cmp s/t/f $H/s/t/f",
        "seq 2000 >x; rsync -a --exclude-from=x ie01:$H/s/ back/",
    ] {
        ends_with(&place, 0, call);
    }
    let list = r"printf '\40\0\0\0\3md5\23\0\0\7\17\0\0\0. /etc/hostname'; sleep 0.2; printf '\0\0\0\0'";
    let sender = "ssh ie01 rsync --server --sender -re.iLsfxCIvu --list-only . $H/s/";
    for call in ["rsync -a -f ': .rules' ie01:$H/s/ back/", &format!("{{ {list}; }} | {sender}")] {
        let stderr = fails(&place, call);
        assert!(stderr.contains("a filter rule has the host read rules"), "{call}: {stderr}");
    }
    let stderr = fails(&place, "rsync -a s/ ie01:/srv/protected/x");
    assert!(stderr.contains("Protected: ") && stderr.contains("/srv/protected"), "{stderr}");
    let stderr = fails(&place, "rsync -a --rsync-path=\"sh -c 'reboot'; rsync\" s/ ie01:$H/s/");
    assert!(stderr.contains("reboot"), "{stderr}");
    let git = "git -c init.defaultBranch=work -c user.name=a -c user.email=a@b";
    let push = format!("cd w; {git} push -q ie01:$H/r.git work");
    let stderr = fails(
        &place,
        &format!(
            "{git} init -q --bare $H/r.git; {git} init -q w; cd w; echo x >f; {git} add f; {git} commit -qm x; cd ..; {push}"
        ),
    );
    // The repository states programs that git runs.
    assert!(stderr.contains("`git-receive-pack`"), "{stderr}");
    ends_with(&place, 0, &format!("cd w; {git} push -q $H/r.git work"));
    // A session may name another repository in the files of one that it may write.
    let steal = "cd $H; mkdir -p g.git/objects/info g.git/refs/heads; cp r.git/HEAD g.git; cp r.git/refs/heads/work g.git/refs/heads; echo $H/r.git/objects >g.git/objects/info/alternates; cd -";
    for call in ["clone -q ie01:$H/g.git c", "clone -q ie01:$H/r.git c", "ls-remote ie01:$H/r.git"] {
        let stderr = fails(&place, &format!("({steal}) >/dev/null && {git} {call}"));
        assert!(stderr.contains("may be written by this session"), "{call}: {stderr}");
    }
    let open = Place::at_tier(3, "policy: {tiers: {3: {effects: [reads, changes, unknown]}}}\n");
    ends_with(
        &open,
        0,
        &format!(
            "{git} init -q --bare $H/r.git; cp -r {}/w .; {push}",
            place.guarded.agent.path(".").display()
        ),
    );
    ends_with(&open, 0, &format!("{git} clone -q -b work ie01:$H/r.git c && cmp c/f w/f"));
    assert_eq!(ends_with(&open, 0, &format!("{git} ls-remote ie01:$H/r.git")).0.lines().count(), 2);
    let (code, _, stderr) = open.said(&format!("cd w; {git} push ie01:$H/r.git work:main"));
    assert!(
        code != Some(0) && stderr.contains("push-to-main") || stderr.contains("pull request"),
        "{stderr}"
    );
}

#[test]
fn a_killed_client_ends_its_call_and_a_guard_that_ends_all_calls() {
    let mut place = Place::new();
    let calls = |place: &Place| {
        let found = Command::new("pgrep")
            .args(["-f", &format!("{}.* sleep 41", place.path("config").display())])
            .output()
            .unwrap();
        String::from_utf8_lossy(&found.stdout).lines().count()
    };
    let start =
        |place: &Place| place.command("exec ssh ie01 sleep 41").stdin(Stdio::piped()).spawn().unwrap();
    let mut client = start(&place);
    until("the call does not begin", || calls(&place) == 1);
    client.kill().unwrap();
    client.wait().unwrap();
    until("the call goes on", || calls(&place) == 0);
    // Without input, and with input that waits.
    let mut client = place.command("exec ssh ie01 sleep 41").spawn().unwrap();
    until("the call does not begin", || calls(&place) == 1);
    client.kill().unwrap();
    client.wait().unwrap();
    until("the call goes on", || calls(&place) == 0);
    let mut client = start(&place);
    let mut stdin = client.stdin.take().unwrap();
    std::thread::spawn(move || stdin.write_all(&vec![0; 40_000_000]));
    until("the call does not begin", || calls(&place) == 1);
    client.kill().unwrap();
    client.wait().unwrap();
    until("the call goes on", || calls(&place) == 0);
    let mut client = start(&place);
    until("the call does not begin", || calls(&place) == 1);
    let began = Instant::now();
    assert_eq!(place.guarded.end(), Some(0));
    assert_eq!(client.wait().unwrap().code(), Some(255));
    assert!(began.elapsed() < Duration::from_secs(5));
    until("the call goes on", || calls(&place) == 0);
    place.guarded.start();
    ends_with(&place, 0, "ssh ie01 true");
}

#[test]
fn without_a_guard_the_real_programs_run() {
    let place = Place::new();
    let (stdout, stderr) = ends_with(&place, 0, "unset CLAUDEOPS_GUARD; ssh -V");
    assert!(stdout.is_empty() && stderr.contains("OpenSSH"), "{stderr}");
    ends_with(&place, 0, "unset CLAUDEOPS_GUARD; ssh -G ie01 | grep -q '^hostname ie01$'");
}

#[test]
fn the_doctor_finds_ways_that_pass_by_the_guard() {
    let place = Place::new();
    let doctor = "opsctl doctor --only 'server credentials'";
    assert!(ends_with(&place, 0, doctor).0.contains("none: this user reaches servers through the guard"));
    for (prepare, found) in [
        ("mkdir .ssh; cp $H/user .ssh/", ".ssh/user"),
        ("eval $(ssh-agent -a agent.sock) >/dev/null; trap 'kill $SSH_AGENT_PID' EXIT", "agent.sock"),
        ("PATH=/usr/bin:$PATH", "`ssh` in PATH is /usr/bin/ssh, not opsctl"),
        (
            "mkdir run run/podman; nc -klU run/podman/podman.sock & trap \"kill $!\" EXIT; until [ -S run/podman/podman.sock ]; do sleep 0.1; done; export XDG_RUNTIME_DIR=run",
            "podman.sock",
        ),
        ("echo 'token: x' >kube; export KUBECONFIG=kube", "kube"),
    ] {
        let (stdout, _) = ends_with(&place, 0, &format!("rm -rf .ssh; {prepare}; $H/agent/{doctor}"));
        assert!(stdout.contains(found) && stdout.contains("warning"), "{prepare}: {stdout}");
    }
}

#[test]
fn a_gate_that_watches_lets_pass_and_records() {
    let place = Place::at_tier(1, "policy: {monitor: {gates: [ssh]}}\n");
    ends_with(&place, 0, "ssh ie01 docker restart jellyfin");
    assert_eq!(place.ran(), "docker restart jellyfin\n");
    assert_eq!(place.guarded.guard.sql("SELECT count(*) FROM cooldown_actions"), "1");
    let report = place.guarded.guard.opsctl(&["gate", "report"], b"");
    assert!(report.stdout.contains("docker restart jellyfin"), "{report:?}");
}

/// The median of the times that each of some shell commands on the agent's side takes. They take turns: the machine is not as fast at all
/// times.
fn medians<const N: usize>(place: &Place, times: usize, texts: &[String; N]) -> [Duration; N] {
    let once = |text: &String| {
        let began = Instant::now();
        assert!(place.command(text).stdout(Stdio::null()).status().unwrap().success(), "{text}");
        began.elapsed()
    };
    let rounds: Vec<_> = (0..times).map(|_| texts.each_ref().map(once)).collect();
    std::array::from_fn(|index| {
        let mut taken: Vec<Duration> = rounds.iter().map(|round| round[index]).collect();
        taken.sort_unstable();
        taken[times / 2]
    })
}

#[test]
#[ignore = "measures a release on an idle machine: OPSCTL_PROGRAM names it"]
fn a_call_takes_little_longer_than_on_a_shared_connection() {
    let place = Place::new();
    ends_with(&place, 0, "ssh ie01 true");
    ends_with(&place, 0, "$H/keys/ssh -S $H/master -fNTM ie01.lan 2>/dev/null");
    for (times, text) in [
        (31, "exec SSH true"),
        (7, "SSH head -c 1073741824 /dev/zero"),
        (7, "SSH head -c 1073741824 /dev/zero | cat"),
        (7, "head -c 1073741824 /dev/zero | SSH 'cat >/dev/null'"),
    ] {
        let texts = ["$H/keys/ssh ie01.lan", "$H/keys/ssh -S $H/master ie01.lan", "ssh ie01"];
        let [direct, shared, broker] = medians(&place, times, &texts.map(|ssh| text.replace("SSH", ssh)));
        println!("{text}: direct {direct:?}, shared connection {shared:?}, broker {broker:?}");
    }
    ends_with(&place, 0, "$H/keys/ssh -S $H/master -O exit ie01.lan 2>/dev/null");
}

#[test]
fn a_hundred_and_fifty_calls_of_a_user_take_little_memory_and_leave_hooks_their_turns() {
    let place = Place::new();
    ends_with(&place, 0, "ssh ie01 true");
    let mut clients: Vec<_> = (0..150)
        .map(|_| {
            place
                .command("exec ssh ie01 'echo x; cat'")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for client in &mut clients {
        let mut first = [0; 2];
        client.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", place.guarded.pid())).unwrap();
    let resident = status.lines().find(|line| line.starts_with("VmRSS")).unwrap().to_owned();
    println!("with 150 calls: {resident}");
    let (_, stderr) = ends_with(&place, 255, "ssh ie01 id");
    assert!(stderr.contains("runs 150 calls"), "{stderr}");
    passes(&place.guarded.agent.before("t1", "docker restart jellyfin"));
    for mut client in clients {
        drop(client.stdin.take());
        assert_eq!(client.wait().unwrap().code(), Some(0));
    }
}

//! Scripts from a small grammar over everything that the reader claims to understand, the same ones for the
//! same seed.
//!
//! Everything in a `steady` script runs once, so the reading must agree exactly with the run. A `wild` script has
//! branches that are not taken, loops without a known end and unknown words: everything that ran must have been reported.

use std::fmt::Write as _;

use fastrand::Rng;

const SERVICES: [&str; 6] = ["jellyfin", "sonarr", "radarr", "adguard", "home-assistant", "web-1"];
const HOSTS: [&str; 4] = ["ie01", "pie01", "pie02", "int01"];

/// A text for bash, and its expected properties.
#[derive(Debug, Clone)]
pub struct Script {
    pub text: String,
    /// Whether nothing runs concurrently, so that the order of the actions is defined.
    pub in_order: bool,
}

/// A script that runs completely.
pub fn steady(seed: u64) -> Script {
    write(seed, false)
}

/// A script with parts that may not run, or may run an unknown number of times.
pub fn wild(seed: u64) -> Script {
    write(seed, true)
}

fn write(seed: u64, wild: bool) -> Script {
    let mut writer =
        Writer { rng: Rng::with_seed(seed), names: 0, wild, in_order: true, in_substitution: false };
    // Mostly small scripts: a difference then shows itself in a small one.
    let depth = [1, 1, 2, 1, 2, 1, 2, 3][usize::try_from(seed % 8).expect("small")];
    let text = writer.script(depth);
    Script { text, in_order: writer.in_order }
}

struct Writer {
    rng: Rng,
    names: usize,
    wild: bool,
    in_order: bool,
    /// Bash 5.2 prints a substitution again before it runs it, and prints `time { … }` over several lines,
    /// `coproc …; wait` and a substitution in a here-document wrongly: a difference that is bash's own.
    in_substitution: bool,
}

impl Writer {
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.rng.usize(..from.len())]
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.rng.usize(..n) == 0
    }

    /// A name that the script does not use yet.
    fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    fn service(&mut self) -> &'static str {
        self.pick(&SERVICES)
    }

    fn host(&mut self) -> &'static str {
        self.pick(&HOSTS)
    }

    /// One to three statements.
    fn script(&mut self, depth: usize) -> String {
        let count = [1, 1, 1, 2, 2, 3][self.rng.usize(..6)];
        let statements: Vec<String> = (0..count).map(|_| self.statement(depth)).collect();
        self.join(&statements)
    }

    fn join(&mut self, statements: &[String]) -> String {
        let lines = statements.iter().any(|text| text.contains(['\n', '#']));
        statements.join(if lines || self.one_in(3) { "\n" } else { "; " })
    }

    fn statement(&mut self, depth: usize) -> String {
        if depth == 0 || self.one_in(6) {
            return if self.one_in(4) { self.quiet() } else { self.acting() };
        }
        match self.rng.usize(..10) {
            0..=3 => self.compound(depth - 1),
            4..=7 => self.text_for_a_shell(depth - 1),
            8 => self.substituted(depth - 1),
            _ if self.wild => self.unsure(depth - 1),
            _ => self.compound(depth - 1),
        }
    }

    /// `text` as the body between two words of the grammar, in one line where that is possible.
    fn body(&mut self, text: &str) -> (String, &'static str) {
        if text.contains(['\n', '#']) || self.one_in(4) {
            (format!("\n{text}\n"), "")
        } else {
            (format!(" {text}"), "; ")
        }
    }

    fn grouped(&mut self, text: &str) -> String {
        let (body, end) = self.body(text);
        if self.one_in(2) { format!("({body}\n)") } else { format!("{{{body}{end}}}") }
    }

    // ---- commands ------------------------------------------------------------------------------------

    /// The words of a command that acts, each as bash will see it.
    fn acting_words(&mut self) -> Vec<String> {
        let (service, other) = (self.service(), self.service());
        let line = match self.rng.usize(..28) {
            0..=2 => format!("docker restart {service}"),
            3 => format!("docker restart -t 5 {service} {other}"),
            4 => format!("docker stop --time=9 {service}"),
            5 => format!("docker start {service}"),
            6 => format!("docker kill {service}"),
            7 => format!("docker rm -f {service}"),
            8 => format!("docker container restart {service}"),
            9 => format!("docker --context prod restart {service}"),
            10 => format!("docker -H ssh://root@{} restart {service}", self.host()),
            11 => format!("podman restart {service}"),
            12 => format!("docker compose -p media up -d {service}"),
            13 => format!("docker compose -f /opt/{service}/compose.yaml up -d --wait"),
            14 => format!("docker-compose -p {service} restart"),
            15 => format!("docker compose --project-directory /opt/{service} down"),
            16 => format!("systemctl restart {service}.service"),
            17 => format!("systemctl -H root@{} stop {service}", self.host()),
            18 => format!("service {service} restart"),
            19 => format!("kubectl -n media rollout restart deploy/{service}"),
            20 => format!("helm upgrade --install {service} ./chart -n media"),
            21 => format!("helm rollback {service} 2"),
            22 => format!("ansible-playbook -i inv playbooks/redeploy-{service}.yml"),
            23 => format!("ansible-playbook site.yml -e service={service}"),
            24 => format!("docker pause {service}"),
            25 => format!("docker service update --force {service}"),
            26 => "gh pr create --fill".to_owned(),
            _ => format!("apprise -t ops -b {service} ntfy://x"),
        };
        line.split(' ').map(str::to_owned).collect()
    }

    fn quiet_words(&mut self) -> Vec<String> {
        let service = self.service();
        let line = match self.rng.usize(..10) {
            0 => "docker ps -a".to_owned(),
            1 => format!("docker logs --tail 5 {service}"),
            2 => format!("systemctl status {service}"),
            3 => "helm list -A".to_owned(),
            4 => format!("ansible-playbook --check redeploy-{service}.yml"),
            5 => format!("helm upgrade --dry-run {service} ./chart"),
            6 => format!("kubectl get deploy {service}"),
            7 => format!("echo docker restart {service}"),
            8 => format!("docker restart --help {service}"),
            _ => "true".to_owned(),
        };
        line.split(' ').map(str::to_owned).collect()
    }

    fn acting(&mut self) -> String {
        let mut before = Vec::new();
        let mut words = self.acting_words();
        if self.one_in(8) {
            words = self.through_words(&words);
        }
        let mut written: Vec<String> = words.iter().map(|word| self.written(word, &mut before)).collect();
        let wraps = self.rng.usize(..4).saturating_sub(1);
        for _ in 0..wraps {
            let wrapper = self.wrapper();
            written.splice(0..0, wrapper);
        }
        if self.one_in(6) {
            let first = self.pick(&["command ", "time ", "A=b ", "env -u NOTHING ", "PAGER=cat LANG=C "]);
            written[0] = format!("{first}{}", written[0]);
        } else if self.one_in(12) {
            return self.in_a_folder();
        }
        let mut line = written.join(if self.one_in(10) { "  " } else { " " });
        if self.one_in(8) {
            line.push_str(self.pick(&[
                " >/dev/null",
                " 2>&1",
                " </dev/null",
                " >>/tmp/log 2>&1",
                " # again",
                " || true",
            ]));
        }
        before.push(line);
        self.join(&before)
    }

    /// Compose, which takes the project from its working directory.
    fn in_a_folder(&mut self) -> String {
        let project = self.pick(&["jellyfin", "sonarr"]);
        let verb = self.pick(&["up -d", "restart", "down", "stop"]);
        match self.rng.usize(..5) {
            0 => format!("(cd /opt/{project} && docker compose {verb})"),
            1 => format!("cd /opt && cd {project} && docker compose {verb}"),
            2 => format!("cd /opt/{project}/../{project}; docker compose {verb}"),
            3 => format!("env -C /opt/{project} docker compose {verb}"),
            _ => format!("COMPOSE_PROJECT_NAME={project} docker compose {verb}"),
        }
    }

    /// Programs that run the rest of their words, with options of theirs.
    fn wrapper(&mut self) -> Vec<String> {
        let line = self.pick(&[
            "sudo",
            "sudo -n",
            "sudo -u root -E",
            "sudo -iu root --",
            "doas",
            "doas -u root",
            "env",
            "env A=b C=d",
            "env -i PATH=/usr/bin",
            "/usr/bin/env --",
            "nohup",
            "nice",
            "nice -n 5",
            "nice -5",
            "ionice -c3",
            "ionice -c 2 -n 7",
            "timeout 30",
            "timeout -k 5 30s",
            "timeout --signal=KILL 1m",
            "setsid -w",
            "stdbuf -oL",
            "stdbuf -o 0 -e L",
            "flock /tmp/lock",
            "flock -w 5 /tmp/lock",
            "chroot /mnt/root",
            "nsenter -t 1 -m -p --",
            "nsenter --target 1 --mount",
            "systemd-run --wait",
            "systemd-run -p Type=oneshot --unit u --",
            "strace -f -o /tmp/trace",
            "runuser -u root --",
            "busybox nice",
            "docker exec runner",
            "docker exec -i -u root runner",
            "docker run --rm -v /a:/b docker:cli",
            "docker compose exec -T runner",
            "podman exec runner",
            "kubectl exec -n media tools --",
            "pct exec 101 --",
            "lxc exec web --",
            "incus exec web --",
            "uv run",
            "uv run --with x",
            "pipenv run",
            "poetry run",
            "tmux new-session -d -s r",
            "screen -dmS r",
        ]);
        // One lock within another of the same name waits for ever.
        let lock = self.fresh("/tmp/lock");
        line.replace("/tmp/lock", &lock).split(' ').map(str::to_owned).collect()
    }

    /// The same words through a program that wants them in another form.
    fn through_words(&mut self, words: &[String]) -> Vec<String> {
        let line = words.join(" ");
        let to_words = |line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        match self.rng.usize(..8) {
            0 => to_words(format!("find / -maxdepth 0 -exec {line} ;")),
            1 => to_words(format!("ssh root@{} {line}", self.host())),
            2 => to_words(format!("ssh -p 2222 -o BatchMode=yes -l root {} -- {line}", self.host())),
            3 => to_words(format!("sshpass -p x ssh {} sudo {line}", self.host())),
            4 => to_words(format!("ssh {} ssh {} {line}", self.host(), self.host())),
            5 => {
                let mut words = to_words("env -S".to_owned());
                words.push(line);
                words
            }
            6 => to_words(format!("autossh -M 0 {} {line}", self.host())),
            _ => to_words(format!("ssh -tt -J bastion {} -p 22 {line}", self.host())),
        }
    }

    // ---- words ---------------------------------------------------------------------------------------

    /// One of the many ways to write `word`; what must be set for it goes to `before`.
    fn written(&mut self, word: &str, before: &mut Vec<String>) -> String {
        let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:@=".contains(&byte));
        if !plain {
            return self.quoted(word);
        }
        match self.rng.usize(..48) {
            0..=19 | 36.. => word.to_owned(),
            20 => format!("'{word}'"),
            21 => format!("\"{word}\""),
            22 => format!("$'{word}'"),
            23 => {
                let (left, right) = word.split_at(self.rng.usize(..=word.len()));
                format!("{left}\"{right}\"")
            }
            24 => {
                let (left, right) = word.split_at(self.rng.usize(..=word.len()));
                format!("'{left}'{right}")
            }
            25 if !word.is_empty() => format!("\\{word}"),
            26 => {
                let name = self.fresh("v");
                before.push(format!("{name}={word}"));
                self.pick(&["$NAME", "\"$NAME\"", "${NAME}", "\"${NAME}\"", "${NAME:-other}"])
                    .replace("NAME", &name)
            }
            27 => {
                let name = self.fresh("unset");
                // The environment might set it.
                before.extend((!self.wild).then(|| format!("{name}=")));
                format!("${{{name}:-{word}}}")
            }
            // `echo -e` prints nothing.
            28 if !word.starts_with('-') => format!("$(echo {word})"),
            29 => format!("\"$(printf %s {word})\""),
            30 => {
                let name = self.fresh("list");
                before.push(format!("{name}=(zero {word})"));
                format!("\"${{{name}[1]}}\"")
            }
            31 => {
                let name = self.fresh("v");
                before.push(format!("{name}={word}-old"));
                format!("${{{name}%-old}}")
            }
            32 => {
                let name = self.fresh("v");
                before.push(format!("{name}=some/where/else"));
                before.push(format!("{name}='{word}'"));
                format!("\"${name}\"")
            }
            33 => {
                let name = self.fresh("v");
                let (left, right) = word.split_at(word.len() / 2);
                before.push(format!("{name}='{left}'"));
                before.push(format!("{name}+={right}"));
                format!("${name}")
            }
            34 => {
                let mut hex = String::new();
                for byte in word.bytes() {
                    write!(hex, "\\x{byte:02x}").expect("writes to a string");
                }
                format!("$'{hex}'")
            }
            _ => format!("`printf %s {word}`"),
        }
    }

    /// `text` as one word.
    fn quoted(&mut self, text: &str) -> String {
        match self.rng.usize(..4) {
            0 => {
                let mut word = String::from("\"");
                for letter in text.chars() {
                    if matches!(letter, '$' | '`' | '"' | '\\') {
                        word.push('\\');
                    }
                    word.push(letter);
                }
                word.push('"');
                word
            }
            1 => {
                let mut word = String::from("$'");
                for letter in text.chars() {
                    match letter {
                        '\'' | '\\' => word.extend(['\\', letter]),
                        '\n' => word.push_str("\\n"),
                        letter => word.push(letter),
                    }
                }
                word.push('\'');
                word
            }
            _ => format!("'{}'", text.replace('\'', "'\\''")),
        }
    }

    // ---- shells that are handed a text ---------------------------------------------------------------

    fn text_for_a_shell(&mut self, depth: usize) -> String {
        let text = self.script(depth);
        let host = self.host();
        let word = self.quoted(&text);
        let tag = self.fresh("END");
        match self.rng.usize(..44) {
            0 => format!("bash -c {word}"),
            1 => format!("bash -uc {word}"),
            2 => format!("sh -c {word}"),
            3 => format!("bash --norc -lc {word} bash one two"),
            4 => format!("eval {word}"),
            5 => format!("eval -- {word}"),
            6 => format!("bash <<'{tag}'\n{text}\n{tag}"),
            7 => format!("bash -s <<\"{tag}\"\n{text}\n{tag}"),
            8 => format!("cat <<\\{tag} | sh\n{text}\n{tag}"),
            9 => format!("printf '%s\\n' {word} | bash"),
            10 => format!("printf '%s' {word} | bash -s -- x"),
            11 => format!("bash <<< {word}"),
            12 => format!("source <(printf '%s\\n' {word})"),
            13 => format!("bash <(printf '%s\\n' {word})"),
            14 => format!("source /dev/stdin <<< {word}"),
            15 => format!("ssh root@{host} {word}"),
            16 => format!("ssh -p 22 -i /k/id {host} {word}"),
            17 => format!("ssh {host} bash -s <<'{tag}'\n{text}\n{tag}"),
            18 => format!("ssh {host} <<'{tag}'\n{text}\n{tag}"),
            19 => format!("printf '%s\\n' {word} | ssh {host}"),
            20 => {
                let inner = format!("bash -c {word}");
                let outer = self.quoted(&inner);
                format!("ssh {host} {outer}")
            }
            21 => {
                let inner = format!("sudo bash -c {word}");
                let outer = self.quoted(&inner);
                format!("timeout 20 ssh {host} {outer}")
            }
            22 => format!("su - root -c {word}"),
            23 => format!("su -c {word} root"),
            24 => format!("sudo bash -c {word}"),
            25 => format!("sudo -s <<'{tag}'\n{text}\n{tag}"),
            26 => format!("flock /tmp/{tag} -c {word}"),
            27 => format!("script -qec {word} /dev/null"),
            28 => format!("timeout 20 bash -c {word}"),
            29 => format!("find / -maxdepth 0 -exec sh -c {word} \\;"),
            30 => format!("echo x | xargs -I@@ bash -c {word}"),
            31 => format!("docker exec -i runner sh -c {word}"),
            32 => format!("docker exec -i runner bash <<'{tag}'\n{text}\n{tag}"),
            33 => format!("tmux new-session -d {word}"),
            34 => format!("kubectl exec tools -- bash -c {word}"),
            35 => format!("( trap {word} EXIT; true )"),
            36 => {
                let name = self.fresh("text");
                format!("{name}={word}; eval \"${name}\"")
            }
            37 => {
                let name = self.fresh("text");
                format!("{name}={word}; bash -c \"${name}\"")
            }
            38 => {
                let file = self.fresh("/tmp/script");
                format!("printf '%s\\n' {word} > {file}; bash {file}")
            }
            39 => {
                let file = self.fresh("/tmp/script");
                format!("cat > {file}.sh <<'{tag}'\n{text}\n{tag}\nchmod +x {file}.sh\n{file}.sh")
            }
            40 if !text.contains(['\\', '(', ')', '{', '}', '\'']) => {
                let code = format!("system(q({text}))");
                format!("perl -e {}", self.quoted(&code))
            }
            41 if !text.contains(['\\', '"', '\n', '\'']) => {
                let code = format!("BEGIN {{ system(\"{text}\") }}");
                format!("awk {}", self.quoted(&code))
            }
            42 => format!("printf '%s\\n' {word} | at now"),
            _ => format!("nohup bash -c {word}"),
        }
    }

    // ---- the shell's own constructs --------------------------------------------------------------------

    fn compound(&mut self, depth: usize) -> String {
        let text = self.script(depth);
        let (body, end) = self.body(&text);
        let group = self.grouped(&text);
        match self.rng.usize(..30) {
            0 => group,
            1 => format!("if true; then{body}{end}\nfi"),
            2 => format!("if{body}{end}\nthen true; fi"),
            3 => format!("if false; then :; else{body}{end}\nfi"),
            4 => format!("if false; then :; elif true; then{body}{end}\nfi"),
            5 => format!("case x in\n  y | x){body}\n;;\nesac"),
            6 => format!("case \"a b\" in a*){body}\n;; esac"),
            7 => format!("for i in one; do{body}{end}\ndone"),
            8 => format!("for i in {{1..2}}; do{body}{end}\ndone"),
            9 => self.loop_over_services(),
            10 => {
                let name = self.fresh("f");
                format!("{name}() {{{body}{end}}}\n{name}")
            }
            11 => {
                let name = self.fresh("f");
                format!("function {name} {{{body}{end}}}\n{name} x y")
            }
            12 => self.function_with_words(),
            13 => {
                let other = self.statement(0);
                let other = self.grouped(&other);
                format!("{group} && {other}")
            }
            14 => format!("! {group}\ntrue"),
            15 => format!("{group} || true"),
            16 => format!("false || {group}"),
            // There bash 5.2 ends with the last program of the sourced text, and leaves out what follows.
            17 if !text.contains("source <(") => {
                self.in_order = false;
                format!("{group} &\nwait")
            }
            18 => format!("{group} | cat"),
            19 => format!("true | {group}"),
            20 => {
                let redirection = self.pick(&[">/dev/null", "2>&1", "&>/dev/null", "</dev/null", "3>&1"]);
                format!("{group} {redirection}")
            }
            21 if !self.in_substitution => format!("time {group}"),
            22 if !self.in_substitution => {
                self.in_order = false;
                format!("coproc {group}; wait")
            }
            23 => {
                let quiet = self.quiet();
                format!("{quiet}\n{group}")
            }
            24 => self.braces(),
            25 => self.through_xargs(),
            26 => {
                let name = self.fresh("uncalled");
                format!("{name}() {{{body}{end}}}")
            }
            27 => format!("# {}\n{group}", text.replace('\n', " ")),
            28 => {
                let name = self.fresh("f");
                format!("( {name}() {{{body}{end}}}\ntrap {name} EXIT; true )")
            }
            _ => format!("exec 5>&1; {group}"),
        }
    }

    fn loop_over_services(&mut self) -> String {
        let (one, two, host) = (self.service(), self.service(), self.host());
        let name = self.fresh("s");
        let verb = self.pick(&["restart", "stop", "start"]);
        match self.rng.usize(..7) {
            0 => format!("for {name} in {one} {two}; do docker {verb} \"${name}\"; done"),
            1 => format!("for {name} in {one} {two}\ndo\n  ssh {host} docker {verb} ${name}\ndone"),
            2 => format!("L{name}='{one} {two}'; for {name} in $L{name}; do docker {verb} ${name}; done"),
            3 => format!(
                "L{name}=({one} {two}); for {name} in \"${{L{name}[@]}}\"; do docker {verb} \"${name}\"; done"
            ),
            4 => format!("for {name} in {{{one},{two}}}; do sudo systemctl {verb} ${{{name}}}; done"),
            5 => format!(
                "for {name} in {host} pie09; do ssh root@${name} 'docker {verb} {one}; docker {verb} {two}'; done"
            ),
            _ => format!("for {name} in {one} {two}; do ssh {host} \"docker {verb} ${name}\"; done"),
        }
    }

    fn function_with_words(&mut self) -> String {
        let (one, two) = (self.service(), self.service());
        let name = self.fresh("f");
        match self.rng.usize(..7) {
            0 => format!("{name}() {{ docker restart \"$1\"; }}; {name} {one}; {name} {two}"),
            1 => format!("{name}() {{ docker \"$@\"; }}; {name} stop {one}"),
            2 => format!("{name}() {{ local s=$2; docker restart \"$s\"; }}\n{name} {one} {two}"),
            3 => {
                format!("{name}() {{ for s in \"$@\"; do docker restart \"$s\"; done; }}; {name} {one} {two}")
            }
            4 => format!("{name}() {{ shift; docker start $*; }}; {name} {one} {two}"),
            5 => format!("bash -c 'docker restart \"$1\"' _ {one}"),
            _ => format!("( set -- {one} {two}; docker restart \"$@\" )"),
        }
    }

    fn braces(&mut self) -> String {
        let (one, two) = (self.service(), self.service());
        match self.rng.usize(..4) {
            0 => format!("docker restart {{{one},{two}}}"),
            1 => format!("{{docker,restart,{one}}}"),
            2 => "systemctl stop worker@{1..3}".to_owned(),
            _ => format!("docker restart x-{{{one},{two}{{1,2}}}}"),
        }
    }

    fn through_xargs(&mut self) -> String {
        let (one, two, host) = (self.service(), self.service(), self.host());
        match self.rng.usize(..6) {
            0 => format!("echo {one} {two} | xargs docker restart"),
            1 => format!("printf '%s\\n' {one} {two} | xargs -n1 docker stop"),
            2 => format!("echo {one} | xargs -I{{}} docker restart {{}}"),
            3 => format!("xargs -r docker start <<< '{one} {two}'"),
            4 => format!("echo {one} | xargs -I % ssh {host} 'docker stop % && docker start %'"),
            _ => format!("parallel docker restart ::: {one} {two}"),
        }
    }

    fn substituted(&mut self, depth: usize) -> String {
        let outer = std::mem::replace(&mut self.in_substitution, true);
        let text = self.script(depth);
        self.in_substitution = outer;
        let (name, tag) = (self.fresh("out"), self.fresh("END"));
        match self.rng.usize(..14) {
            0 => format!("{name}=$(\n{text}\n)"),
            1 => format!("echo \"$(\n{text}\n)\""),
            2 => format!(": $(\n{text}\n)"),
            3 => format!("export {name}=\"$(\n{text}\n)\""),
            4 => {
                self.in_order = false;
                format!("cat <(\n{text}\n) >/dev/null")
            }
            5 if !self.in_substitution => format!("cat <<{tag}\n$(\n{text}\n)\n{tag}"),
            6 => format!("[[ -n $(\n{text}\n) ]] || true"),
            7 => format!("{name}=($(\n{text}\n))"),
            8 => format!("echo ${{{name}:-$(\n{text}\n)}}"),
            9 => format!("grep -q x <<< \"$(\n{text}\n)\" || true"),
            10 => {
                self.in_order = false;
                format!("true > >(\n{text}\n); wait")
            }
            11 => format!("case \"$(\n{text}\n)\" in *) true ;; esac"),
            12 if !text.contains(['`', '\\', '$']) => format!("{name}=`{text}\n`"),
            _ => format!("{name}=x$(\n{text}\n)y true"),
        }
    }

    // ---- what does nothing -----------------------------------------------------------------------------

    fn quiet(&mut self) -> String {
        if self.one_in(2) {
            return self.quiet_words().join(" ");
        }
        let text = self.acting_words().join(" ");
        let word = self.quoted(&text);
        let (name, tag) = (self.fresh("q"), self.fresh("END"));
        match self.rng.usize(..14) {
            0 => format!("echo {word}"),
            1 => format!("printf '%s\\n' {word}"),
            2 => format!(": {word}"),
            3 => format!("# {text}\ntrue"),
            4 => format!("cat > /tmp/{name} <<'{tag}'\n{text}\n{tag}"),
            5 => format!("grep -F -e {word} /dev/null || true"),
            6 => format!("{name}() {{ {text}; }}"),
            7 => format!("{name}={word}"),
            8 => format!("alias {name}={word}"),
            9 => format!("git commit -m {word}"),
            10 => format!("echo {word} | tee /tmp/{name}"),
            11 => format!("[[ x == {word} ]] || true"),
            12 => format!("cat <<{tag} | grep x || true\n{text}\n{tag}"),
            _ => format!("ssh ie01 echo {text}"),
        }
    }

    // ---- what cannot be known --------------------------------------------------------------------------

    fn unsure(&mut self, depth: usize) -> String {
        let text = self.script(depth);
        let (body, end) = self.body(&text);
        let group = self.grouped(&text);
        let (service, file) = (self.service(), self.fresh("/tmp/list"));
        match self.rng.usize(..14) {
            0 => format!("curl -sf http://x || {group}"),
            1 => format!("if curl -sf http://x; then{body}{end}\nelse docker start {service}; fi"),
            2 => format!("case $RANDOM in *1){body}\n;; *) docker stop {service};; esac"),
            3 => format!("n=0; while [ $n -lt 2 ]; do n=$((n+1))\n{text}\ndone"),
            4 => format!("echo {service} > {file}; while read -r s; do docker restart \"$s\"; done < {file}"),
            5 => format!("echo {service} > {file}; docker restart $(cat {file})"),
            6 => format!("echo {service} > {file}; cat {file} | xargs -n1 docker restart"),
            7 => format!("for f in /opt/*; do{body}{end}\ndone"),
            8 => "docker restart $(docker ps -q)".to_owned(),
            9 => "docker ps --format '{{.Names}}' | while read -r c; do docker stop \"$c\"; done".to_owned(),
            10 => format!("read -r s < <(echo {service}); docker restart $s"),
            11 => format!("true && {group} || docker stop {service}"),
            12 => format!("until{body}{end}\ndo sleep 1; done"),
            _ => format!("[ $(date +%S) -gt 61 ] && {group}; docker start {service}"),
        }
    }
}

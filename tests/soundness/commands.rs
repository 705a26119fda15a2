//! Simple commands of generated programs.

use crate::generator::Generator;
use crate::program::{Part, Sort, Tree};

impl Generator {
    /// A command that acts, if its words are what they seem.
    pub fn acting(&mut self, depth: usize) -> Tree {
        let verb = self.pick(&["restart", "restart", "restart", "stop", "start"]);
        let name = self.name();
        let mut tree = match self.rng.usize(..28) {
            0..=6 => Tree::of(Sort::Statement, &format!("docker {verb} §"), [self.target(depth)]),
            7 => Tree::of(
                Sort::Statement,
                &format!("docker {verb} § §"),
                [self.target(depth), self.target(depth)],
            ),
            8 => Tree::of(Sort::Statement, &format!("systemctl {verb} §"), [self.target(depth)]),
            9 => Tree::statement("docker system prune -af"),
            10 => Tree::of(Sort::Statement, "rm -rf §", [self.target(depth)]),
            11 => Tree::of(Sort::Statement, "kubectl delete pod §", [self.target(depth)]),
            12 => Tree::statement("docker compose down -v"),
            13 => Tree::of(Sort::Statement, "docker compose §", [self.word(depth)]),
            14 => Tree::of(Sort::Statement, "docker compose § §", [self.word(depth), self.word(depth)]),
            15 => Tree::of(Sort::Statement, &format!("${name} docker {verb} §"), [self.target(depth)]),
            16 => Tree::of(Sort::Statement, &format!("${name} {verb} §"), [self.target(depth)]),
            17 => Tree::of(Sort::Statement, &format!("docker ${name} §"), [self.target(depth)]),
            18 => Tree::statement("docker \"$1\" \"$2\""),
            19 => Tree::statement("docker compose \"$@\""),
            20 => Tree::statement("docker \"${L[@]}\""),
            21 => Tree::statement(format!("${{{name}:+echo}} docker {verb} jellyfin")),
            22 => Tree::statement(format!("docker compose ${{{name}:-down}}")),
            23 => Tree::statement("\"$@\""),
            _ if self.callable() > 0 => {
                let number = self.rng.usize(..self.callable());
                let words: Vec<Part> = (0..self.rng.usize(..4)).map(|_| self.word(depth)).collect();
                Tree::of(Sort::Statement, &format!("f{number}{}", " §".repeat(words.len())), words)
            }
            _ => Tree::of(Sort::Statement, &format!("docker {verb} §"), [self.target(depth)]),
        };
        if self.rng.usize(..8) == 0 {
            let wrapper = self.pick(&[
                "command §",
                "env §",
                "env X=1 §",
                "X=1 §",
                "timeout --foreground 5 §",
                "sudo §",
                "exec §",
                "nohup §",
                "time §",
                "echo web | xargs §",
                "builtin eval §",
                "eval §",
                "echo §",
                "! §",
            ]);
            tree = Tree::of(Sort::Statement, wrapper, [Part::Tree(tree)]);
        }
        if self.rng.usize(..8) == 0 {
            tree = Tree::of(Sort::Statement, "§ §", [Part::Tree(tree), self.redirection(depth.min(1))]);
        }
        tree
    }

    /// A command that changes nothing.
    pub fn quiet(&mut self) -> Tree {
        let (name, service) = (self.name(), self.service());
        match self.rng.usize(..12) {
            0 => Tree::of(Sort::Statement, "echo §", [self.word(0)]),
            1 => Tree::statement("docker ps -a"),
            2 => Tree::statement(format!("systemctl status {service}")),
            3 => Tree::statement(format!("docker logs {service}")),
            4 => Tree::statement(":"),
            5 => Tree::statement("true"),
            6 => Tree::statement("false"),
            7 => Tree::of(Sort::Statement, "printf '%s' §", [self.word(0)]),
            8 => {
                Tree::of(Sort::Statement, &format!(": \"${{{name}:=§}}\""), [Part::Text(service.to_owned())])
            }
            9 => self.condition(0),
            10 => Tree::of(Sort::Statement, ": §", [self.word(1)]),
            _ => Tree::of(Sort::Statement, "cat list §", [self.redirection(0)]),
        }
    }

    pub fn assignment(&mut self, depth: usize) -> Tree {
        let (name, other) = (self.name(), self.name());
        let word = self.word(depth);
        match self.rng.usize(..30) {
            0..=6 => Tree::of(Sort::Statement, &format!("{name}=§"), [word]),
            7 => Tree::of(Sort::Statement, &format!("{name}+=§"), [word]),
            8 => Tree::of(Sort::Statement, &format!("{name}=§ {other}=${name}"), [word]),
            9 => Tree::of(Sort::Statement, "L=(§ §)", [word, self.word(depth)]),
            10 => Tree::of(Sort::Statement, "L+=(§)", [word]),
            11 => Tree::of(Sort::Statement, "L[1]=§", [word]),
            12 => Tree::of(Sort::Statement, "L=([0]=§ [2]=x)", [word]),
            13..=15 => {
                let declare = self.pick(&[
                    "declare",
                    "export",
                    "readonly",
                    "local",
                    "typeset",
                    "declare -g",
                    "declare -x",
                ]);
                if self.rng.bool() {
                    Tree::of(Sort::Statement, &format!("{declare} {name}=§ {other}=\"${name}\""), [word])
                } else {
                    Tree::of(Sort::Statement, &format!("{declare} {name}=§"), [word])
                }
            }
            16 => {
                let flag = self.pick(&["-i", "-l", "-u", "-c", "-a", "-ai", "-r", "-gi"]);
                Tree::of(Sort::Statement, &format!("declare {flag} {name}=§"), [word])
            }
            17 => Tree::statement(match self.rng.usize(..6) {
                0 => format!("declare -n {name}=L[1]"),
                1 => format!("declare -n {name}"),
                2 => format!("unset -n {name}"),
                _ => format!("declare -n {name}={other}"),
            }),
            18 => Tree::statement(format!("declare -A K=([a]=docker [b]=web); {name}=${{K[b]}}")),
            19 => {
                let format =
                    self.pick(&["%s", "%s", "%d", "%q", "%-4s", "%.3s", "%b", "%s%s", "%05d", "x%s"]);
                Tree::of(Sort::Statement, &format!("printf -v {name} {format} §"), [word])
            }
            20 => {
                let options = self
                    .pick(&["-r ", "-r ", "", "-n 4 ", "-N 3 ", "-t x ", "-u 3 ", "-d e ", "-ra L ", "-Z "]);
                Tree::of(Sort::Statement, &format!("read {options}{name} {other} <<<§"), [word])
            }
            21 => {
                let options = self.pick(&["-t", "-t", "-t -s 1", "-t -O 1", "-n 1", "-u 3", ""]);
                Tree::of(Sort::Statement, &format!("mapfile {options} L <<<§"), [word])
            }
            22 => Tree::statement(format!(
                "unset {}",
                self.pick(&["A", "S", "M", "L", "-f f0", "-v D", "'L[0]'"])
            )),
            23 => Tree::of(Sort::Statement, &format!("{name}=$((§))"), [self.arithmetic(2)]),
            24 => {
                let declare = self.pick(&["declare", "export", "local", ""]);
                Tree::of(Sort::Statement, &format!("{declare} {name}=§ >/nonexistent/x"), [word])
            }
            25 => {
                let signal = self.pick(&["DEBUG", "ERR", "RETURN", "EXIT"]);
                Tree::statement(format!("trap '{name}={}' {signal}", self.pick(&["restart", "ps", "echo"])))
            }
            26 => Tree::of(
                Sort::Statement,
                &format!("{{ read -r {other}; §read -r {name}; }} <<<$'x\\nrestart'"),
                [Part::Tree(self.quiet_line())],
            ),
            27 => {
                Tree::of(Sort::Statement, &format!("{name}=$(printf '%s\\n' § ps | sort | head -1)"), [word])
            }
            _ => {
                let value = self.pick(&[
                    "$(declare -p A)",
                    "$(type -t docker)",
                    "$(umask)",
                    "$(cat -n <<<$A)",
                    "$(echo -n -e 'restart\\c'; echo x)",
                    "${L[*]:1}",
                    "${L[-1]}",
                    "${#L[@]}",
                    "${A//s/&&}",
                    "${A%\\*}",
                    "${S,,}",
                    "$'restart\\0x'",
                ]);
                Tree::statement(format!("{name}={value}"))
            }
        }
    }

    /// A command that changes nothing, with the end of its line.
    fn quiet_line(&mut self) -> Tree {
        let text =
            self.pick(&["", "cat; ", "(read -r Q); ", "f() { read -r Q; }; f; ", "true; ", "Q=$(cat); "]);
        Tree::statement(text)
    }

    /// A command that ends a way through the program, if it is carried out.
    pub fn ending(&mut self) -> Tree {
        let (in_loop, in_function) = self.can_end();
        let tree = match self.rng.usize(..10) {
            0..=3 if in_loop => {
                let text = self.pick(&[
                    "break",
                    "continue",
                    "break 2",
                    "continue 2",
                    "break 1",
                    "break 0",
                    "continue 0",
                ]);
                Tree::statement(text)
            }
            0..=5 if in_function => {
                Tree::statement(self.pick(&["return", "return 1", "return 0", "return $1"]))
            }
            6 => Tree::statement(self.pick(&["return", "break", "continue"])),
            7 => Tree::of(Sort::Statement, "exec §", [Part::Tree(self.quiet())]),
            _ => Tree::statement(self.pick(&["exit", "exit 0", "exit 1", "exit $1", "exit $n"])),
        };
        if self.rng.usize(..4) == 0 {
            return Tree::of(Sort::Statement, "§ §", [Part::Tree(tree), self.redirection(0)]);
        }
        tree
    }

    /// A command that changes the state of the shell.
    pub fn state(&mut self, depth: usize) -> Tree {
        let name = self.name();
        match self.rng.usize(..20) {
            0..=2 => Tree::of(Sort::Statement, "set -- §", [self.word(depth)]),
            3 => Tree::of(Sort::Statement, "set -- § §", [self.word(depth), self.word(depth)]),
            4 => Tree::statement("set -- \"${@:2}\""),
            5 | 6 => Tree::statement(self.pick(&["shift", "shift", "shift 2"])),
            7 => Tree::statement("set -e"),
            8 => Tree::statement(self.pick(&[
                "set +e",
                "set -u",
                "set -o pipefail",
                "set -f",
                "set -x",
                "set -n",
                "set -a",
                "set -k",
            ])),
            9 => Tree::statement(format!("cd {}", self.pick(&["sub", "/nonexistent", "..", "\"$S\"", "-"]))),
            10 => Tree::statement("pushd sub"),
            11 => {
                let body = self.list(depth - 1);
                Tree::of(Sort::Statement, &format!("while getopts 'vf:' {name}; do §done"), [body])
            }
            12 => Tree::statement(format!(
                "{{ shopt -s expand_aliases; alias g='{}'; }}",
                self.pick(&["docker", "echo", "docker restart", "echo "])
            )),
            13 => Tree::statement("g restart web"),
            14 => Tree::statement("unalias g"),
            15 => Tree::statement(format!("IFS={}", self.pick(&[",", "''", "e", "' '"]))),
            16 => Tree::statement(format!(
                "shopt -s {}",
                self.pick(&["nullglob", "lastpipe", "extglob", "inherit_errexit", "nocasematch"])
            )),
            17 => Tree::statement("export -f f0"),
            18 => Tree::statement(self.pick(&[
                "exec 3<list",
                "exec </nonexistent",
                "exec >/dev/null",
                "exec 3<&-",
                "exec 2>/nonexistent/x",
            ])),
            _ => Tree::statement(format!("PATH={}", self.pick(&["$PATH", "/nonexistent", "$PATH:sub"]))),
        }
    }
}

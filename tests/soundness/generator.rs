//! Bash programs over all constructs of the grammar, the same one for the same seed. Every one of them ends, and runs only
//! stand-ins and programs that print.

use fastrand::Rng;

use crate::program::{Part, Sort, Tree};
use crate::words::{NAMES, VALUES};
use crate::world::Input;

/// How many inputs a program runs with.
pub const INPUTS: usize = 8;

pub struct Generator {
    pub rng: Rng,
    /// Names of counters and delimiters so far.
    fresh: usize,
    /// Functions with a lower number than this may be called, so that no recursion is endless.
    callable: usize,
    in_loop: usize,
    in_function: bool,
}

/// The program of a seed.
pub fn program(seed: u64) -> Tree {
    let mut generator = Generator::with_seed(seed);
    let depth = [1, 1, 2, 2, 2, 3, 3, 4][generator.rng.usize(..8)];
    let count = 1 + generator.rng.usize(..5);
    let lines = generator.rng.bool();
    let statements: Vec<Tree> = (0..count).map(|_| generator.statement(depth)).collect();
    let last = generator.acting(1);
    Tree::list(lines, statements.into_iter().chain([last]))
}

/// The inputs of a seed: nothing at all, and others.
pub fn inputs(seed: u64) -> Vec<Input> {
    let mut rng = Rng::with_seed(seed ^ 0x5eed);
    let mut args = Vec::new();
    let mut inputs = Vec::new();
    for number in 0..INPUTS {
        // Every second input has the arguments of the one before it.
        if number % 2 == 0 {
            let count = if number == 0 { 0 } else { rng.usize(..4) };
            args = (0..count).map(|_| VALUES[rng.usize(..VALUES.len())].replace("''", "")).collect();
        }
        let mut input = Input { args: args.clone(), ..Input::default() };
        if number > 0 {
            for name in NAMES {
                if rng.usize(..4) == 0 {
                    let value = VALUES[rng.usize(..VALUES.len())].replace("''", "");
                    input.env.push((name.to_owned(), value));
                }
            }
            let files = [("flag", ""), ("list", "web\nsonarr\n"), ("sub/", ""), ("sub/flag", "x")];
            for (name, text) in files {
                let has_folder =
                    !name.starts_with("sub/f") || input.files.iter().any(|(name, _)| name == "sub/");
                if has_folder && rng.bool() {
                    input.files.push((name.to_owned(), text.to_owned()));
                }
            }
            input.probes = std::array::from_fn(|_| u8::from(rng.bool()) * 3);
            input.listed = ["", "web", "web sonarr"][rng.usize(..3)].to_owned();
        }
        inputs.push(input);
    }
    inputs
}

impl Generator {
    fn with_seed(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), fresh: 0, callable: 0, in_loop: 0, in_function: false }
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.rng.usize(..from.len())]
    }

    pub fn fresh(&mut self) -> usize {
        self.fresh += 1;
        self.fresh
    }

    /// One to three statements.
    pub fn list(&mut self, depth: usize) -> Part {
        let count = [1, 1, 2, 3][self.rng.usize(..4)];
        let lines = self.rng.bool();
        Part::Tree(Tree::list(
            lines,
            (0..count).map(|_| self.statement(depth.saturating_sub(1))).collect::<Vec<_>>(),
        ))
    }

    pub fn statement(&mut self, depth: usize) -> Tree {
        if depth == 0 {
            return match self.rng.usize(..10) {
                0..=4 => self.acting(0),
                5 | 6 => self.assignment(0),
                7 => self.ending(),
                _ => self.quiet(),
            };
        }
        match self.rng.usize(..30) {
            0..=3 => self.acting(depth),
            4..=6 => self.assignment(depth),
            7 => self.ending(),
            8 | 9 => self.state(depth),
            10..=12 => {
                let operator = self.pick(&["&&", "||"]);
                let left =
                    if self.rng.bool() { self.condition(depth - 1) } else { self.statement(depth - 1) };
                let right = Part::Tree(self.statement(depth - 1));
                Tree::of(Sort::Statement, &format!("§ {operator} §"), [Part::Tree(left), right])
            }
            13 => Tree::of(Sort::Statement, "! §", [Part::Tree(self.compound(depth - 1))]),
            14 => {
                let left = Part::Tree(self.compound(depth - 1));
                let between = self.pick(&["|", "|&"]);
                Tree::of(
                    Sort::Statement,
                    &format!("§ {between} §"),
                    [left, Part::Tree(self.compound(depth - 1))],
                )
            }
            15 => {
                let background = Tree::of(Sort::Statement, "§ &", [Part::Tree(self.compound(depth - 1))]);
                let both = Tree::list(false, [background, Tree::statement("wait")]);
                Tree::of(Sort::Statement, "{ §}", [Part::Tree(both)])
            }
            16 | 17 => self.function(depth - 1),
            18 => self.trap(depth - 1),
            19 | 20 => self.text_for_a_shell(depth - 1),
            21 => {
                let redirection = self.redirection(depth - 1);
                Tree::of(Sort::Statement, "§ §", [Part::Tree(self.compound(depth - 1)), redirection])
            }
            _ => self.compound(depth),
        }
    }

    fn looped(&mut self, depth: usize) -> Part {
        self.in_loop += 1;
        let list = self.list(depth);
        self.in_loop -= 1;
        list
    }

    fn compound(&mut self, depth: usize) -> Tree {
        let depth = depth.saturating_sub(1);
        match self.rng.usize(..18) {
            0 => Tree::of(Sort::Statement, "{ §}", [self.list(depth)]),
            1 => Tree::of(Sort::Statement, "( §)", [self.list(depth)]),
            2..=4 => {
                let condition = Part::Tree(Tree::list(false, [self.condition(depth)]));
                let then = self.list(depth);
                let head = [condition, then];
                match self.rng.usize(..4) {
                    0 => Tree::of(
                        Sort::Statement,
                        "if §then §else §fi",
                        head.into_iter().chain([self.list(depth)]),
                    ),
                    1 => {
                        let other = Part::Tree(Tree::list(false, [self.condition(depth)]));
                        let rest = [other, self.list(depth), self.list(depth)];
                        Tree::of(
                            Sort::Statement,
                            "if §then §elif §then §else §fi",
                            head.into_iter().chain(rest),
                        )
                    }
                    _ => Tree::of(Sort::Statement, "if §then §fi", head),
                }
            }
            5..=7 => self.case(depth),
            8 => {
                let words: Vec<Part> = (0..self.rng.usize(..3)).map(|_| self.word(depth)).collect();
                let template = format!("for {} in{}; do §done", self.name(), " §".repeat(words.len()));
                Tree::of(Sort::Statement, &template, words.into_iter().chain([self.looped(depth)]))
            }
            9 => {
                let template = format!("for {}{}; do §done", self.name(), self.pick(&["", " in \"$@\""]));
                Tree::of(Sort::Statement, &template, [self.looped(depth)])
            }
            10 => {
                let n = self.fresh();
                let head = match self.rng.usize(..4) {
                    0 => format!("for ((;;)); do §[ $((i{n} += 1)) -lt 3 ] || break; done"),
                    _ => format!("for ((i{n}=0; i{n} < {}; i{n}++)); do §done", self.pick(&["1", "2", "$#"])),
                };
                Tree::of(Sort::Statement, &head, [self.looped(depth)])
            }
            11 | 12 => {
                let n = self.fresh();
                let condition = Part::Tree(self.condition(depth));
                let template = match self.rng.usize(..3) {
                    0 => format!("while [ $((i{n} += 1)) -lt 4 ] && §; do §done"),
                    1 => format!("until [ $((i{n} += 1)) -gt 3 ] || §; do §done"),
                    _ => format!("while [ $((i{n} += 1)) -lt 4 ] && [ $# -gt 0 ] && §; do §shift\ndone"),
                };
                Tree::of(Sort::Statement, &template, [condition, self.looped(depth)])
            }
            13 => {
                let body = self.looped(depth);
                let words = [self.word(0), self.word(0)];
                let name = self.name();
                let template = format!("select {name} in § §; do §break; done <<<1");
                Tree::of(Sort::Statement, &template, words.into_iter().chain([body]))
            }
            14 => {
                let template = format!("while read -r {}; do §done", self.name());
                let from = self.pick(&[
                    "list",
                    "<(printf '%s\\n' \"$@\")",
                    "<(docker ps -q)",
                    "/nonexistent",
                    "<(echo web)",
                ]);
                Tree::of(
                    Sort::Statement,
                    &format!("{template} <{}{from}", if from.starts_with('<') { " " } else { "" }),
                    [self.looped(depth)],
                )
            }
            15 => Tree::of(Sort::Statement, "((§))", [self.arithmetic(2)]),
            16 => Tree::of(
                Sort::Statement,
                self.pick(&["time §", "time -p §"]),
                [Part::Tree(self.acting(depth))],
            ),
            _ => {
                let template = self.pick(&["coproc { §}", "coproc W { §}"]);
                let coprocess = Tree::of(Sort::Statement, template, [self.list(depth)]);
                Tree::of(
                    Sort::Statement,
                    "{ §}",
                    [Part::Tree(Tree::list(true, [coprocess, Tree::statement("wait")]))],
                )
            }
        }
    }

    fn case(&mut self, depth: usize) -> Tree {
        let value = self.pick(&["$1", "\"$1\"", "$M", "$S", "x", "${1:-up}", "$(docker ps -q)", "\"$A$B\""]);
        let mut template = format!("case {value} in");
        let mut bodies = Vec::new();
        for _ in 0..=self.rng.usize(..3) {
            let patterns = match self.rng.usize(..6) {
                0 => "x".to_owned(),
                1 => format!("{} | {}", self.value(), self.value()),
                2 => format!("{}*", &self.service()[..1]),
                3 => "-* | '')".trim_end_matches(')').to_owned(),
                4 => "[a-m]*".to_owned(),
                _ => self.value().to_owned(),
            };
            let open = self.pick(&["", "("]);
            if self.rng.usize(..4) == 0 {
                template.push_str(&format!(" {open}{patterns}) ;;"));
            } else {
                let end = self.pick(&[";;", ";;", ";;", ";;", ";&", ";;&"]);
                template.push_str(&format!(" {open}{patterns}) §{end}"));
                bodies.push(self.list(depth));
            }
        }
        if self.rng.bool() {
            template.push_str(" *) §;;");
            bodies.push(self.list(depth));
        }
        Tree::of(Sort::Statement, &format!("{template} esac"), bodies)
    }

    fn function(&mut self, depth: usize) -> Tree {
        let number = self.rng.usize(..=self.callable.min(2));
        let (callable, in_function, in_loop) = (self.callable, self.in_function, self.in_loop);
        (self.callable, self.in_function, self.in_loop) = (number, true, 0);
        let body = self.list(depth);
        (self.callable, self.in_function, self.in_loop) = (callable.max(number + 1), in_function, in_loop);
        let template = match self.rng.usize(..10) {
            0 => format!("function f{number} {{ §}}"),
            1 => format!("f{number}() ( §)"),
            2 => format!("f{number}() {{ §}} </nonexistent"),
            3 => {
                let run = self.pick(&["docker", "echo", "systemctl"]);
                return Tree::statement(format!(
                    "{run}() {{ {}; }}",
                    self.pick(
                        &["echo \"$@\"", "command docker \"$@\"", ":", "command \"$FUNCNAME\" \"$@\"",]
                    )
                ));
            }
            4 => format!(
                "f{number}() {{ [ \"${{1:-0}}\" -gt 0 ] 2>/dev/null || return; §f{number} $(($1 - 1))\n}}\nf{number} 2"
            ),
            _ => format!("f{number}() {{ §}}"),
        };
        Tree::of(Sort::Statement, &template, [body])
    }

    fn trap(&mut self, depth: usize) -> Tree {
        let signal = self.pick(&["EXIT", "EXIT", "ERR", "DEBUG", "RETURN", "0", "EXIT ERR", "USR1"]);
        match self.rng.usize(..6) {
            0 => Tree::statement(format!("trap - {signal}")),
            1 => Tree::statement(format!("trap '' {signal}")),
            _ => {
                let Part::Tree(list) = self.list(depth.min(1)) else { unreachable!("a list") };
                Tree::of(Sort::Statement, &format!("trap § {signal}"), [Part::Quoted(list)])
            }
        }
    }

    /// A text that another shell runs, or this one.
    fn text_for_a_shell(&mut self, depth: usize) -> Tree {
        let (callable, in_loop) = (std::mem::take(&mut self.callable), std::mem::take(&mut self.in_loop));
        let Part::Tree(list) = self.list(depth) else { unreachable!("a list") };
        (self.callable, self.in_loop) = (callable, in_loop);
        let n = self.fresh();
        let word = self.word(0);
        match self.rng.usize(..10) {
            0 | 1 => Tree::of(Sort::Statement, "bash -c § x §", [Part::Quoted(list), word]),
            2 => Tree::of(Sort::Statement, "eval §", [Part::Quoted(list)]),
            3 => Tree::of(Sort::Statement, "ssh nas §", [Part::Quoted(list)]),
            4 => Tree::of(
                Sort::Statement,
                "§ <<'E§'§",
                [
                    Part::Text(
                        self.pick(&["bash", "sh", "bash -s a b", "ssh nas bash", "cat | sh"]).to_owned(),
                    ),
                    Part::Text(n.to_string()),
                    Part::Document(format!("E{n}"), list),
                ],
            ),
            5 => Tree::of(
                Sort::Statement,
                "bash <<E§§",
                [Part::Text(n.to_string()), Part::Document(format!("E{n}"), list)],
            ),
            6 => Tree::of(Sort::Statement, "bash <<<§", [Part::Quoted(list)]),
            7 => {
                let how = self.pick(&["bash x.sh", "source ./x.sh", ". ./x.sh", "sh x.sh"]);
                Tree::of(
                    Sort::Statement,
                    &format!("cat >x.sh <<'E{n}' && {how} §§"),
                    [word, Part::Document(format!("E{n}"), list)],
                )
            }
            8 => Tree::of(Sort::Statement, "printf '%s\\n' § >x.sh; bash x.sh §", [Part::Quoted(list), word]),
            _ => Tree::of(Sort::Statement, "source <(printf %s §)", [Part::Quoted(list)]),
        }
    }

    pub fn redirection(&mut self, depth: usize) -> Part {
        let text = match self.rng.usize(..18) {
            0 | 1 => "</nonexistent",
            2 => ">/nonexistent/x",
            3 => ">/dev/null",
            4 => "2>&1",
            5 => ">>out",
            6 => "<>flag",
            7 => ">|out",
            8 => "&>/dev/null",
            9 => "&>>out",
            10 => "3>&1",
            11 => "</dev/null",
            12 => return Part::Tree(Tree::of(Sort::Word, "<<< §", [self.word(depth)])),
            13 => return Part::Tree(Tree::of(Sort::Word, "> >(§)", [self.list(depth)])),
            14 => return Part::Tree(Tree::of(Sort::Word, "< <(§)", [self.list(depth)])),
            15 => "<list",
            16 => "2>&- <&0",
            _ => "<\"$S\"",
        };
        Part::Tree(Tree::word(text))
    }

    pub fn can_end(&self) -> (bool, bool) {
        (self.in_loop > 0, self.in_function)
    }

    pub fn callable(&self) -> usize {
        self.callable
    }
}

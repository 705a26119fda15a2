//! Words, conditions and arithmetic of generated programs.

use crate::generator::Generator;
use crate::program::{Part, Sort, Tree};

/// Variables of a program. Some of them may be in its environment.
pub const NAMES: [&str; 6] = ["A", "B", "C", "D", "M", "S"];
pub const SERVICES: [&str; 3] = ["jellyfin", "sonarr", "web"];
/// What variables hold, and arguments are.
pub const VALUES: [&str; 14] = [
    "jellyfin",
    "sonarr",
    "web",
    "docker",
    "restart",
    "stop",
    "echo",
    "down",
    "-v",
    "--dry-run",
    "ps",
    "1",
    "''",
    "true",
];
const FILE_TESTS: [&str; 19] = [
    "-e", "-b", "-c", "-d", "-f", "-g", "-h", "-k", "-p", "-r", "-s", "-u", "-w", "-x", "-G", "-N", "-O",
    "-S", "-L",
];
const BINARY_TESTS: [&str; 10] = ["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt"];
const OPERATORS: [&str; 20] = [
    "**", "*", "/", "%", ",", "+", "-", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&",
    "||",
];

impl Generator {
    pub fn name(&mut self) -> &'static str {
        self.pick(&NAMES)
    }

    pub fn service(&mut self) -> &'static str {
        self.pick(&SERVICES)
    }

    pub fn value(&mut self) -> &'static str {
        self.pick(&VALUES)
    }

    /// A word that is often a plain one.
    pub fn word(&mut self, depth: usize) -> Part {
        let (name, value) = (self.name(), self.value());
        Part::Tree(match self.rng.usize(..16) {
            0..=6 => Tree::word(value),
            7 | 8 => Tree::word(format!("${name}")),
            9 => Tree::word(format!("\"${name}\"")),
            _ => self.expansion(depth),
        })
    }

    /// The name of a service, mostly.
    pub fn target(&mut self, depth: usize) -> Part {
        if self.rng.usize(..10) < 6 { Part::Tree(Tree::word(self.service())) } else { self.word(depth) }
    }

    /// A word of an expansion.
    fn expansion(&mut self, depth: usize) -> Tree {
        let (name, value, other) = (self.name(), self.value(), self.value());
        let service = self.service();
        let value = if value == "''" { "" } else { value };
        let text = match self.rng.usize(..64) {
            0 => format!("${{{name}:-{value}}}"),
            1 => format!("${{{name}:={value}}}"),
            2 => format!("${{{name}:+{value}}}"),
            3 => format!("${{{name}-{value}}}"),
            4 => format!("${{{name}={value}}}"),
            5 => format!("${{{name}+{value}}}"),
            6 => format!("${{{name}:?no {name}}}"),
            7 => format!("${{{name}?}}"),
            8 => format!("${{{name}#*e}}"),
            9 => format!("${{{name}##*e}}"),
            10 => format!("${{{name}%r*}}"),
            11 => format!("${{{name}%%r*}}"),
            12 => format!("${{{name}/e/a}}"),
            13 => format!("${{{name}//{service}/{value}}}"),
            14 => format!("${{{name}/#s/d}}"),
            15 => format!("${{{name}/%n/p}}"),
            16 => format!("${{{name}^^}}"),
            17 => format!("${{{name},,}}"),
            18 => format!("${{{name}^}}"),
            19 => format!("${{{name},}}"),
            20 => format!("${{{name}:0:2}}"),
            21 => format!("${{{name}: -2}}"),
            22 => format!("${{!{name}}}"),
            23 => format!("${{#{name}}}"),
            24 => format!("${{{name}@{}}}", self.pick(&["U", "L", "u", "Q", "E", "P", "A", "a", "K", "k"])),
            25 => "${!A@}".to_owned(),
            26 => "${!A*}".to_owned(),
            27 => "${!L[@]}".to_owned(),
            28 => "${#L[@]}".to_owned(),
            29 => "${L[@]}".to_owned(),
            30 | 31 => "\"${L[@]}\"".to_owned(),
            32 => "\"${L[*]}\"".to_owned(),
            33 => "${L[0]}".to_owned(),
            34 => "${L[1]}".to_owned(),
            35 => "${L[n]}".to_owned(),
            36 => "${L[-1]}".to_owned(),
            37 | 38 => "$1".to_owned(),
            39 => "\"$1\"".to_owned(),
            40 => "\"$2\"".to_owned(),
            41 => "$#".to_owned(),
            42 | 43 => "\"$@\"".to_owned(),
            44 => self.pick(&["$*", "\"$*\""]).to_owned(),
            45 => "${@:2}".to_owned(),
            46 => "\"${@:1:1}\"".to_owned(),
            47 => format!("${{1:-{value}}}"),
            48 => self.pick(&["$?", "$!", "$-", "$$", "$0", "$_"]).to_owned(),
            49 => self.pick(&["~", "~+", "~-", "~root", "~1", "~-1"]).to_owned(),
            50 => format!("{{{service},{other}}}"),
            51 => self.pick(&["x{1..2}", "{a..b}", "{a,{b,c}}"]).to_owned(),
            52 => format!("$'{service}\\x21'"),
            53 => format!("$\"{service}\""),
            54 => format!("{}\\{}", &service[..1], &service[1..]),
            55 => format!("'{service}'"),
            56 => format!("\"{service}-${name}\""),
            57 => {
                return Tree::of(
                    Sort::Word,
                    "${§:-§}",
                    [Part::Text(name.to_owned()), self.substitution(depth)],
                );
            }
            58 => return Tree::of(Sort::Word, "$((§))", [self.arithmetic(2)]),
            59 => return Tree::of(Sort::Word, "<(§)", [self.list(depth)]),
            60 => format!("${{{name}:+\"$@\"}}"),
            _ => return Tree::of(Sort::Word, "§", [self.substitution(depth)]),
        };
        Tree::word(text)
    }

    /// A substitution of a command's output.
    pub fn substitution(&mut self, depth: usize) -> Part {
        let value = self.value();
        let inner = match self.rng.usize(..8) {
            0..=2 => Part::Tree(Tree::list(false, [Tree::statement(format!("echo {value}"))])),
            3 => Part::Tree(Tree::list(false, [Tree::statement("docker ps -q")])),
            4 => return Part::Tree(Tree::word("$(<list)")),
            5 => Part::Tree(Tree::list(false, [Tree::statement("cat list")])),
            6 => Part::Tree(Tree::list(false, [Tree::statement("printf '%s\\n' \"$@\"")])),
            _ => self.list(depth),
        };
        match (self.rng.usize(..4), inner) {
            (0, Part::Tree(tree)) => Part::Backquoted(tree),
            (1, inner) => Part::Tree(Tree::of(Sort::Word, "\"$(§)\"", [inner])),
            (_, inner) => Part::Tree(Tree::of(Sort::Word, "$(§)", [inner])),
        }
    }

    /// An arithmetic expression.
    pub fn arithmetic(&mut self, depth: usize) -> Part {
        let inner = |generator: &mut Self| generator.arithmetic(depth.saturating_sub(1));
        let tree = match self.rng.usize(..if depth == 0 { 4 } else { 16 }) {
            0 => Tree::word("n"),
            1 => Tree::word(self.pick(&["0", "1", "2"])),
            2 => Tree::word(self.pick(&["$#", "L[0]", "${#L[@]}"])),
            3 => Tree::word(self.name()),
            4 | 5 => {
                let operator = self.pick(&["+", "-", "~", "!"]);
                Tree::of(Sort::Word, &format!("{operator}(§)"), [inner(self)])
            }
            6 => {
                let (condition, yes) = (inner(self), inner(self));
                Tree::of(Sort::Word, "(§) ? (§) : (§)", [condition, yes, inner(self)])
            }
            7 => Tree::of(Sort::Word, "n = (§)", [inner(self)]),
            8 => {
                let operator = self.pick(&["+", "-", "*", "|", "&", "^", "<<", ">>", "%", "/"]);
                Tree::of(Sort::Word, &format!("n {operator}= (§)"), [inner(self)])
            }
            9 => Tree::word(self.pick(&["++n", "--n", "n++", "n--", "L[1]++"])),
            10 => {
                let service = self.service();
                Tree::word(format!("x[$(docker restart {service})0]"))
            }
            _ => {
                let operator = self.pick(&OPERATORS);
                let left = inner(self);
                Tree::of(Sort::Word, &format!("(§) {operator} (§)"), [left, inner(self)])
            }
        };
        Part::Tree(tree)
    }

    /// A statement that is true or false.
    pub fn condition(&mut self, depth: usize) -> Tree {
        let (name, value) = (self.name(), self.value());
        let file = self.pick(&["flag", "list", "sub", "none", "\"$1\"", "/nonexistent"]);
        let test = self.pick(&FILE_TESTS);
        match self.rng.usize(..32) {
            0 => Tree::of(Sort::Statement, "[ \"$1\" = § ]", [self.word(0)]),
            1 => Tree::statement(format!("[ -n \"${name}\" ]")),
            2 => Tree::statement(format!("[ -z \"${name}\" ]")),
            3 => Tree::statement(format!("[ \"${name}\" = {value} ]")),
            4 => Tree::statement(format!("test {test} {file}")),
            5 => Tree::statement(format!("[ $# -{} 0 ]", self.pick(&["eq", "gt", "ne"]))),
            6 => Tree::statement(format!("[[ {test} {file} ]]")),
            7 => Tree::statement(format!("[[ ${name} == {}* ]]", self.pick(&["r", "d", "s", "-"]))),
            8 => Tree::statement(format!("[[ $1 =~ ^-{} ]]", self.pick(&["", "v", "(-.*)"]))),
            9 => Tree::statement(format!("[[ ${name} =~ \"e\" ]]")),
            10 => Tree::of(
                Sort::Statement,
                &format!("[[ -f list && ( -n ${name} || § == x ) ]]"),
                [self.word(0)],
            ),
            11 => Tree::statement(format!(
                "[[ ! ${name} {} {value} ]]",
                self.pick(&["<", ">", "!=", "=", "-ef", "-ot"])
            )),
            12 => {
                let test = self.pick(&["-v", "-R", "-z", "-n"]);
                Tree::statement(format!("[[ {test} {name} ]]"))
            }
            13 => Tree::statement(format!("[[ -o {} || -t 0 ]]", self.pick(&["errexit", "nounset"]))),
            14 => {
                let operator = self.pick(&BINARY_TESTS);
                Tree::of(Sort::Statement, &format!("[[ $# {operator} § ]]"), [self.arithmetic(0)])
            }
            15 => {
                let operator = self.pick(&["-a", "-o"]);
                Tree::statement(format!("[ -e flag {operator} ! -n \"${name}\" ]"))
            }
            16 => Tree::of(Sort::Statement, "((§))", [self.arithmetic(2)]),
            17..=20 => Tree::statement(format!("systemctl is-active -q p{}", self.rng.usize(..4))),
            21 => Tree::statement(format!("grep -q {value} list")),
            22 => Tree::of(Sort::Statement, "! §", [Part::Tree(self.condition(depth))]),
            23 if depth > 0 => {
                let operator = self.pick(&["&&", "||"]);
                let left = Part::Tree(self.condition(depth - 1));
                let right = Part::Tree(self.condition(depth - 1));
                Tree::of(Sort::Statement, &format!("§ {operator} §"), [left, right])
            }
            24 if depth > 0 => self.statement(depth - 1),
            25 => Tree::statement("true"),
            26 => Tree::statement("false"),
            27 => Tree::statement(format!("[ ! {test} {file} ]")),
            28 => Tree::statement(format!("command -v {value} >/dev/null")),
            29 => Tree::statement(format!("[ \"${{1:-}}\" != {value} ]")),
            30 => Tree::statement("read -r M <list"),
            _ => Tree::statement(format!("[ \"${{{name}:-0}}\" = 1 ]")),
        }
    }
}

//! Protected and secret files: the objections to commands and tools that write or read them.
//!
//! `programs` lists the files that a command accesses, `guarded` the globs of guarded files. Every file that a word may
//! refer to counts: as it is written, with `..` and links resolved, and each file that a glob matches now.

mod access;
mod code;
pub mod environment;
mod explained;
pub mod guarded;
mod mount;
mod programs;
mod remove;
mod search;
mod socket;
mod sqlite;
mod transfer;
pub mod values;
mod variables_in_code;

use std::cell::OnceCell;
use std::collections::HashSet;

use crate::lists::{APPLICATION_FOLDERS, ASKING_CLIENTS, CONTAINER_FOLDERS, LINKED_FOLDERS, SAME_MACHINE};
use crate::model::records::verdict::Reason;
use crate::model::rights::rules::{PathRule, Rules};
use crate::paths::computed::{is_below_new_folder, lists_files, names_own_files};
use crate::paths::glob;
use crate::paths::word_paths::{LocalMachine, WordPaths, text_paths};
use crate::selection;
pub use access::{Access, Touch};
pub use code::removed;
use guarded::{Guarded, Locations};
use opsctl_reader::catalogue::program::{Prints, Program};
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::shell::{Command, Construct, Found, Mode, Node, Script, Unknown, Word};
use opsctl_reader::terms::plain_text::first_words;
pub use search::searched;
pub use transfer::received;

/// Both lists of guarded files, each created on first use.
struct Lists<'a> {
    catalogue: Catalogue,
    locations: &'a dyn Fn() -> Locations,
    rules: &'a Rules,
    machine: &'a dyn LocalMachine,
    protect: OnceCell<Vec<Guarded>>,
    secret: OnceCell<Vec<Guarded>>,
}

/// The objections to what a script would do to files.
pub fn objections(
    script: &Script,
    rules: &Rules,
    locations: &dyn Fn() -> Locations,
    machine: &dyn LocalMachine,
) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    let lists = Lists::new(script.catalogue, locations, rules, machine);
    let guard = guarded::guard_socket(machine);
    let mut seen = Found::default();
    // Commands that differ otherwise touch the same files.
    let mut judged = HashSet::new();
    let mut filtered: Vec<(*const Command, Vec<Access>)> = Vec::new();
    script.visit(|node| {
        if let Node::Group(Construct::Pipeline, parts) = node {
            filtered.extend(environment::filtered(parts, script.catalogue));
        }
        let (Node::Command(command) | Node::Group(Construct::Through(command), _)) = node else { return };
        let inner = matches!(node, Node::Command(_));
        let is_it = |known: *const Command| std::ptr::eq(known, command.as_ref());
        let shown = filtered.iter().find(|(known, _)| is_it(*known)).map(|(_, shown)| shown);
        if shown.is_none() && seen.get(command) == Some(&inner) {
            return;
        }
        if shown.is_none() {
            seen.add(command, inner);
        }
        if let Some(socket) = &guard {
            reasons.extend(socket::objection(command, socket, machine));
        }
        let mut accesses = accesses(command, inner, script.catalogue, machine);
        if let Some(shown) = shown {
            accesses.retain(|access| access.touch != Touch::Print || !access.path.is_empty());
            accesses.extend(shown.iter().cloned());
        }
        if let Some(there) = transfer::received(command, script.catalogue) {
            let written = self::accesses(&there, true, script.catalogue, machine);
            let written = written.iter().filter(|access| access.touch.writes());
            let found = written.filter_map(|access| lists.objection(access, &there));
            reasons.extend(found.collect::<Vec<_>>());
        }
        for access in accesses {
            let folders = (command.cwd.as_deref(), &*command.missed);
            let place = (&*command.hosts, &*command.via, folders, command.is_elsewhere);
            let program = command.words.first().map(|word| word.text.as_str());
            let key = (access, program, place);
            if judged.contains(&key) {
                continue;
            }
            let found = lists.objection(&key.0, command);
            reasons.extend(found.filter(|reason| !reasons.contains(reason)));
            judged.insert(key);
        }
    });
    reasons
}

/// The objection to a tool of the client that touches a file itself.
pub fn tool_objections(
    accesses: &[Access],
    cwd: Option<&str>,
    rules: &Rules,
    locations: &dyn Fn() -> Locations,
    machine: &dyn LocalMachine,
) -> Vec<Reason> {
    let command = Command { cwd: cwd.map(str::to_owned), ..Command::default() };
    let lists = Lists::new(Catalogue::default(), locations, rules, machine);
    accesses.iter().filter_map(|access| lists.objection(access, &command)).collect()
}

/// The accesses of a command. `inner` is false for the words of a wrapper.
pub fn accesses(
    command: &Command,
    inner: bool,
    catalogue: Catalogue,
    machine: &dyn LocalMachine,
) -> Vec<Access> {
    let mut accesses = redirected(command);
    programs::accesses(command, inner, catalogue, machine, &mut accesses);
    // A file of a folder that a search has found, or that the content of a file states.
    if let Some(cwd) = command.cwd.as_deref().filter(|cwd| cwd.starts_with("$(")) {
        let is_relative = |path: &str| !path.starts_with(['/', '~', '$']);
        let read = accesses.iter().filter(|access| access.touch == Touch::Read && is_relative(&access.path));
        let words: Vec<Word> = read.map(|access| Word::unknown(format!("{cwd}/{}", access.path))).collect();
        for word in &words {
            accesses.push(Access::new(Touch::Read, word));
            search::printed(word, catalogue, &mut accesses);
        }
    }
    // `rm $(find …)`, `find … | xargs rm`
    let is_found = |access: &&Access| access.touch.writes() && access.path.starts_with("$(");
    let written: Vec<Word> =
        accesses.iter().filter(is_found).map(|access| Word::unknown(access.path.as_str())).collect();
    for word in &written {
        let mut found = Vec::new();
        search::printed(word, catalogue, &mut found);
        let searched = found.into_iter().filter(|access| matches!(access.touch, Touch::Search { .. }));
        accesses
            .extend(searched.map(|access| Access { touch: Touch::WriteFound { certain: false }, ..access }));
    }
    let is_spared = |access: &Access| access.touch == Touch::Read && selection::lists_variables(&access.path);
    if accesses.iter().any(is_spared) && selection::spares_values(command, catalogue) {
        accesses.retain(|access| !is_spared(access));
    }
    if inner {
        accesses.extend(environment::passed(command));
        programs::edited(command, catalogue, &mut accesses);
    } else {
        accesses.extend(environment::launched(command, catalogue));
    }
    accesses
}

/// The files that the shell opens for a command.
pub fn redirected(command: &Command) -> Vec<Access> {
    // The redirections of a wrapper are in the list beside it, those of a command belong to it.
    let plain = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin"];
    let opened = command.redirections.iter().filter(|one| !plain.contains(&one.path.text.as_str()));
    let touches: fn(Mode) -> &'static [Touch] = |mode| match mode {
        Mode::Read => &[Touch::Read],
        Mode::ReadWrite => &[Touch::Read, Touch::Write],
        Mode::Write | Mode::Append => &[Touch::Write],
    };
    opened.flat_map(|one| touches(one.mode).iter().map(|touch| Access::new(*touch, &one.path))).collect()
}

impl<'a> Lists<'a> {
    fn new(
        catalogue: Catalogue,
        locations: &'a dyn Fn() -> Locations,
        rules: &'a Rules,
        machine: &'a dyn LocalMachine,
    ) -> Self {
        Self { catalogue, locations, rules, machine, protect: OnceCell::new(), secret: OnceCell::new() }
    }

    fn protect(&self) -> &[Guarded] {
        self.protect.get_or_init(|| guarded::protect(&(self.locations)(), &self.rules.protect, self.machine))
    }

    fn secret(&self) -> &[Guarded] {
        self.secret.get_or_init(|| guarded::secret(&(self.locations)(), &self.rules.secret, self.machine))
    }

    /// The objection to reading what a search finds.
    fn found(&self, access: &Access, deep: bool, command: &Command) -> Option<Reason> {
        let remote = command.host().is_some();
        let (base, name) = search::parts(access);
        let folder = text_paths(base, access.unknown, command, self.machine);
        let guards = |path: &str| guarded::decisive(self.secret(), path, remote);
        let base = folder.paths.first().map_or("", String::as_str);
        let asked = names(self.secret()).filter(|secret| search::asks_for(name, secret));
        let asked =
            asked.filter(|_| !name.contains(['*', '?']) || guards(&format!("{base}/{name}")).is_none());
        let mut paths: Vec<String> = asked.map(|secret| format!("{base}/{secret}")).collect();
        if !name.contains(['*', '?', '[']) {
            // In the folder, and in one below it.
            paths = vec![format!("{base}/{name}")];
            paths.extend(deep.then(|| format!("{base}/*/{name}")));
        }
        if !command.is_elsewhere {
            let found = folder.paths.iter().filter_map(|path| self.machine.below(path, deep)).flatten();
            paths.extend(
                found.filter(|path| glob::matches(name, path.rsplit('/').next().unwrap_or_default())),
            );
        }
        paths.retain(|path| {
            let file = path.rsplit('/').next().unwrap_or_default();
            !access.left_out.iter().any(|out| glob::matches(out, file))
        });
        let (path, found) = paths.iter().find_map(|path| Some((path, guards(path)?)))?;
        let text = format!(
            "Secret: this search finds `{path}`{}, which is not read (`{}`). What it holds must not enter this \
             session. Name the files that you need, or leave it out (`grep --exclude='.env*'`, `find ! -name \
             '.env*'`); `grep -l` lists names only.",
            command.whereabouts(),
            found.glob
        );
        Some(Reason::of("secret", text))
    }

    /// The objection to writing what a search finds.
    fn removed(&self, access: &Access, certain: bool, command: &Command) -> Option<Reason> {
        let remote = command.host().is_some();
        let (base, name) = search::parts(access);
        let folder = text_paths(base, access.unknown, command, self.machine);
        let is_inside = is_in_container(command, base, self.catalogue);
        if is_inside && let Some(reason) = closed_in_containers(&folder.paths, command) {
            return certain.then_some(reason);
        }
        let outside = || {
            let written = Access::named(Touch::Write, access.path.clone(), access.unknown);
            let found = guarding(self.protect(), &written, &folder, remote)?;
            (certain && found.is_closing() && !is_inside).then_some(found)
        };
        let within = |base: &String| {
            let mut here = self
                .protect()
                .iter()
                .filter(|guarded| guarded.scope.holds(remote) && !(is_inside && guarded.spares_containers));
            here.find(|guarded| {
                let is_one = !guarded.excepted && !guarded.is_closing();
                is_one && search::may_find(base, name, &guarded.glob, certain)
            })
        };
        let found = folder.paths.iter().chain(&folder.end).find_map(within).or_else(outside)?;
        let text = format!(
            "Protected: this search for `{name}`{} may find a file that may not be written, moved or removed (`{}`). \
             Name the files, or a folder that contains none of these. {}",
            command.whereabouts(),
            found.glob,
            found.instead
        );
        Some(Reason::of("protect", text))
    }

    /// The objection to printing a variable, or with an empty name to printing all of them.
    fn printed(&self, name: &str, command: &Command) -> Option<Reason> {
        let text = if name.is_empty() {
            let environment = Access::new(Touch::Read, &Word::literal("/proc/self/environ"));
            let meant = text_paths(&environment.path, false, command, self.machine);
            guarding(self.secret(), &environment, &meant, false)?;
            format!(
                "Secret: the whole environment is not printed{}, because it holds keys. Print one harmless variable: \
                 `printenv NAME`, or the names: `sh -c 'env | cut -d= -f1'`.",
                command.whereabouts()
            )
        } else {
            let name = format!("${name}");
            let found = guarded::decisive(self.secret(), &name, command.host().is_some())?;
            format!(
                "Secret: the variable `{name}` is not printed (`{}`). Programs may use it: `curl -H \"Authorization: \
                 Bearer {name}\"`. Whether it is set is shown by `test -n \"{name}\" && echo set`.",
                found.glob
            )
        };
        Some(Reason::of("secret", text))
    }

    /// The objection to copying links, or to making them, on a host: what is written through them later may be any file.
    fn linked(&self, access: &Access, command: &Command) -> Option<Reason> {
        let is_there = command.host().is_some() || self.machine.is_host() || command.is_elsewhere;
        let meant = text_paths(&access.path, access.unknown, command, self.machine);
        let is_open = |path: &&String| LINKED_FOLDERS.iter().any(|folder| glob::matches(folder, path));
        let closed = meant.paths.iter().find(|path| !is_open(path)).filter(|_| is_there)?;
        let text = format!(
            "Protected: a link to or below `{closed}`{} is not made or copied: what is written through it later is outside the \
             folders for data and temporary files. Copy what links lead to: `cp -L`, `cp -rL`, `rsync -rL`.",
            command.whereabouts(),
        );
        Some(Reason::of("protect", text))
    }

    fn objection(&self, access: &Access, command: &Command) -> Option<Reason> {
        match access.touch {
            Touch::Print => return self.printed(&access.path, command),
            Touch::Search { deep } => return self.found(access, deep, command),
            Touch::WriteFound { certain } => return self.removed(access, certain, command),
            Touch::Linked => return self.linked(access, command),
            _ => {}
        }
        let remote = command.host().is_some();
        let meant = text_paths(&access.path, access.unknown, command, self.machine);
        let program = command.words.first().map(|word| word.text.rsplit('/').next().unwrap_or(&word.text));
        let by = |what: &str| match program {
            Some(program) if !program.contains(char::is_whitespace) => format!(" ({what} by `{program}`)"),
            _ => String::new(),
        };
        let shown = first_words(&access.path, 120).replace(char::is_control, "");
        if meant.too_many {
            let rule = if access.touch.reads() { "secret" } else { "protect" };
            let text = format!(
                "Denied: `{shown}`{} matches more files than opsctl can check. Name a folder, or fewer files at a time.",
                by("touched")
            );
            return Some(Reason::of(rule, text));
        }
        let place = command.whereabouts();
        if access.touch.reads() {
            if meant.paths.is_empty() && is_stated_by_content(access, command, self.catalogue) {
                let text = format!(
                    "Secret: the content or the name of a file states which file is read{place} (`{shown}`), which may be \
                     a secret one. Name the file; behind a search, `-exec` names each file as it is."
                );
                return Some(Reason::of("secret", text));
            }
            let in_container =
                || by_glob(self.secret(), access, &meant, remote).filter(|_| command.is_elsewhere);
            let found = guarding(self.secret(), access, &meant, remote).or_else(in_container)?;
            let instead = match found.instead {
                "" => "If it matters, state in the report what an operator should check.",
                instead => instead,
            };
            let text = format!(
                "Secret: `{shown}`{}{place} may not be read (`{}`). Its content must not enter this session. {instead}",
                by("read"),
                found.glob
            );
            return Some(Reason::of("secret", text));
        }
        // What `mktemp` has made is new, and `-` is the standard output.
        if is_below_new_folder(&access.path) || access.path == "-" {
            return None;
        }
        let is_inside = is_in_container(command, &access.path, self.catalogue);
        if is_inside && let Some(reason) = closed_in_containers(&meant.paths, command) {
            return Some(reason);
        }
        let found = guarding(self.protect(), access, &meant, remote)?;
        let is_application =
            |path: &String| APPLICATION_FOLDERS.iter().any(|folder| glob::matches(folder, path));
        let is_shared = access.touch == Touch::Shared
            && !meant.paths.is_empty()
            && meant.paths.iter().all(is_application);
        if found.is_closing() && is_shared {
            return None;
        }
        if found.spares_containers && is_inside {
            return None;
        }
        let Guarded { glob, instead, .. } = found;
        let by = by("touched");
        let text = format!(
            "Protected: `{shown}`{by}{place} may not be written, moved or removed (`{glob}`). {instead}"
        );
        Some(Reason::of("protect", text))
    }
}

/// Whether the content of a file, or of an address, states a path: `$(cat list)`. What a search lists is judged as a search.
fn is_stated_by_content(access: &Access, command: &Command, catalogue: Catalogue) -> bool {
    let program = command.words.first().map(|word| base_name(&word.text));
    let opened = command.redirections.iter().map(|one| &one.path);
    let words = command.words.iter().chain(opened);
    let mut named =
        words.flat_map(Word::beginnings).filter(|unknown| access.path.starts_with(&unknown.source));
    // No word states the folder in which a command runs: `cd $(cat list)`.
    let is_copied = || {
        let source = access.path.strip_prefix("$(").and_then(|source| source.split_whitespace().next());
        let prints = |program: &str| catalogue.find(program).and_then(|found| found.prints);
        source.is_some_and(|one| one == "<" || matches!(prints(one), Some(Prints::Input | Prints::Answers)))
    };
    let is_stated = match named.next() {
        Some(unknown) => unknown.may_be_any() || named.any(Unknown::may_be_any),
        None => is_copied(),
    };
    names_own_files(&access.path, command)
        || is_stated
            && !lists_files(&access.path)
            && !program.is_some_and(|name| ASKING_CLIENTS.contains(&name))
}

/// The objection to writing a folder of a container that may be one of its host.
fn closed_in_containers(paths: &[String], command: &Command) -> Option<Reason> {
    let is_open = |path: &&String| {
        let decisive =
            CONTAINER_FOLDERS.iter().rev().find(|folder| glob::matches(folder.trim_start_matches('!'), path));
        decisive.is_some_and(|folder| !folder.starts_with('!'))
    };
    let closed = paths.iter().find(|path| !is_open(path))?;
    let text = format!(
        "Protected: `{closed}`{} may not be written, moved or removed: it may be a folder of the host. In containers, sessions \
         write only the usual folders of applications. State in the report what should change.",
        command.whereabouts(),
    );
    Some(Reason::of("protect", text))
}

/// Whether a session may write this file of a host.
pub fn is_open_on_hosts(path: &str, own: &[PathRule], machine: &dyn LocalMachine) -> bool {
    let list = guarded::protect(&Locations::default(), own, machine);
    guarded::decisive(&list, path, true).is_none()
}

/// Whether a command runs in a container or a guest, where a path is another one than on its machine. A path through
/// `/proc` may lead out of it.
pub fn is_in_container(command: &Command, path: &str, catalogue: Catalogue) -> bool {
    let encloses = |name: &String| {
        let mut forms = catalogue.find(name).into_iter().flat_map(Program::forms);
        forms.any(|form| form.runs.is_some_and(|runs| runs.inside))
    };
    command.is_elsewhere
        && !path.contains("/proc")
        && !command.via.iter().any(|name| SAME_MACHINE.contains(&name.as_str()))
        && command.via.iter().any(encloses)
}

/// The names of secret files that may be in any folder, as a search may find them.
fn names(secret: &[Guarded]) -> impl Iterator<Item = String> {
    let anywhere = secret
        .iter()
        .filter(|guarded| !guarded.excepted)
        .filter_map(|guarded| guarded.glob.strip_prefix("**/"));
    anywhere.filter(|name| !name.contains('/')).map(|name| name.replace(['*', '?'], ""))
}

/// The folder of a search that may read secrets, where that cannot be looked at. `own` are the rules of `policy.secret`.
pub fn open_search(
    command: &Command,
    inner: bool,
    catalogue: Catalogue,
    own: &[PathRule],
    machine: &dyn LocalMachine,
) -> Option<String> {
    accesses(command, inner, catalogue, machine).into_iter().find_map(|access| {
        let Touch::Search { deep } = access.touch else { return None };
        let base = search::parts(&access).0;
        let folder = text_paths(base, access.unknown, command, machine);
        let is_seen = !command.is_elsewhere
            && !access.is_inside
            && !folder.paths.is_empty()
            && folder.paths.iter().all(|path| machine.below(path, deep).is_some());
        let resolved = folder.paths.first().map_or(base, String::as_str);
        let own = own.iter().map(|rule| rule.glob.as_str());
        // A folder that an operator has named keeps its files from searches of the folders around it.
        let is_around =
            |glob: &str| glob.starts_with('/') && glob.ends_with("/**") && glob::leads_below(glob, resolved);
        let leads_there = deep && own.clone().any(is_around);
        let secret = crate::lists::SECRET.iter().map(|(glob, ..)| *glob).chain(own);
        let secret = secret.filter(|glob| !glob.starts_with(['!', '$', '{']));
        (!is_seen && (leads_there || !search::is_harmless(&access, resolved, secret)))
            .then(|| base.to_owned())
    })
}

/// The glob that guards a file which a glob may match on another machine: only that machine knows what it matches there.
fn by_glob<'g>(list: &'g [Guarded], access: &Access, meant: &WordPaths, remote: bool) -> Option<&'g Guarded> {
    let globs = meant.paths.iter().filter(|path| path.contains(['*', '?', '[']));
    let mut pairs = globs.flat_map(|path| list.iter().map(move |guarded| (path, guarded)));
    let found = pairs.find(|(path, guarded)| {
        let fits = || search::may_match(path, &guarded.glob, access.touch.writes());
        guarded.scope.holds(remote) && !guarded.excepted && !guarded.is_closing() && fits()
    });
    found.map(|(_, guarded)| guarded)
}

/// The glob that guards what is meant; of several that name a path, the last one decides.
fn guarding<'g>(
    list: &'g [Guarded],
    access: &Access,
    meant: &WordPaths,
    remote: bool,
) -> Option<&'g Guarded> {
    let here = || list.iter().filter(|guarded| guarded.scope.holds(remote));
    let named = meant.paths.iter().find_map(|path| guarded::decisive(list, path, remote));
    if named.is_some() {
        return named;
    }
    if remote && let Some(found) = by_glob(list, access, meant, remote) {
        return Some(found);
    }
    // An action on a folder affects everything below it.
    let below = || {
        here().filter(|guarded| !guarded.excepted && !guarded.glob.starts_with("**")).find(|guarded| {
            let inside = glob::literal(&guarded.glob);
            // `rm -rf $X/var/lib` without X.
            let left = meant.end.iter().filter(|_| access.touch == Touch::WriteAll);
            meant.paths.iter().chain(left).any(|path| {
                path == "/"
                    || inside == *path
                    || (access.touch == Touch::ReadAll && glob::leads_below(&guarded.glob, path))
                    || inside.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
            })
        })
    };
    if matches!(access.touch, Touch::WriteAll | Touch::Shared | Touch::ReadAll)
        && let Some(found) = below()
    {
        return Some(found);
    }
    // If only the end of a path is known, the end decides; where only exceptions are open, it is not enough.
    let is_placed = !meant.paths.is_empty();
    let anywhere = || here().find(|guarded| !is_placed && guarded.is_closing());
    let Some(end) = meant.end.as_deref() else { return anywhere() };
    // A bare word may be the name of a file in some folder, or not a file: `promtool check config`.
    let is_bare = !access.path.contains(['/', '$', '`', '~']);
    here()
        .rev()
        .find(|guarded| glob::matches(&guarded.glob, end) || (!is_bare && guarded.glob.ends_with(end)))
        .filter(|guarded| !(guarded.excepted || guarded.is_closing() && is_placed))
        .or_else(anywhere)
}

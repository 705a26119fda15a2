//! The commands that run in a container which reaches more than itself: those of a closed list.

use opsctl_reader::shell::glob;

use super::reach::{KNOWN, Reach};

/// Why other commands do not run.
const LIMITED: &str = "this container shares processes, rights, disks or the network of its host, or has a volume that may be any folder of it, and may reach a container engine through them without this gate: only programs that read files of the container run in it, each with plain words";

/// A command that is to be run in a container.
#[derive(Debug, Clone, Copy)]
pub struct Command<'a> {
    /// Its words.
    pub words: &'a [String],
    /// The folder in which it starts; empty if that is not known.
    pub folder: &'a str,
    /// The variables that it gets.
    pub variables: &'a [String],
}

impl Command<'_> {
    /// Why the command does not run in a container with this reach; `None` if it may.
    pub fn refusal(&self, reach: Reach) -> Option<&'static str> {
        let passes = match reach {
            Reach::Itself => true,
            Reach::Engine => false,
            Reach::Network | Reach::Host => {
                let has_variables = self
                    .variables
                    .iter()
                    .all(|own| KNOWN.variables.iter().any(|name| own.split('=').next() == Some(name)));
                let is_apart = reach == Reach::Network || stays(self.folder, false);
                let all = commands(self.words);
                has_variables
                    && is_apart
                    && all.is_some_and(|all| all.iter().all(|words| is_known(words, reach)))
            }
        };
        (!passes).then_some(LIMITED)
    }
}

/// Whether a path of a container in such a namespace is one of its own files.
pub fn is_own_file(path: &str) -> bool {
    stays(path, false)
}

/// The commands of a text of a shell, or the one that is stated; `None` if it is not plain.
fn commands(words: &[String]) -> Option<Vec<Vec<String>>> {
    match words {
        [shell, option, text]
            if matches!(program(shell), Some("sh" | "ash" | "bash" | "dash")) && option == "-c" =>
        {
            plain(text)
        }
        words => Some(vec![words.to_vec()]),
    }
}

/// The commands of a text that consists of plain and quoted words, with `|`, `;`, `&&` or `||` between them.
fn plain(text: &str) -> Option<Vec<Vec<String>>> {
    let (mut all, mut words, mut word): (Vec<Vec<String>>, Vec<String>, Option<String>) =
        (vec![], vec![], None);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' => words.extend(word.take()),
            '\'' | '"' => {
                let own = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' if c == '"' => return None,
                        other => own.push(other),
                    }
                }
            }
            '|' | ';' | '&' => {
                words.extend(word.take());
                let is_double = c != ';' && chars.next_if_eq(&c).is_some();
                if words.is_empty() || c == '&' && !is_double || chars.peek() == Some(&'&') {
                    return None;
                }
                all.push(std::mem::take(&mut words));
            }
            c if c.is_ascii_alphanumeric() || "-_./:,+=@%".contains(c) => {
                word.get_or_insert_default().push(c);
            }
            '>' if word.as_deref() == Some("2") => {
                let rest: String = std::iter::from_fn(|| chars.next_if(|c| !" |;".contains(*c))).collect();
                word = None;
                matches!(rest.as_str(), "/dev/null" | "&1").then_some(())?;
            }
            _ => return None,
        }
    }
    words.extend(word);
    (!words.is_empty()).then(|| all.push(words))?;
    Some(all)
}

/// The name of a program; `None` if it is at an unusual place.
fn program(word: &str) -> Option<&str> {
    let name = KNOWN.folders.iter().find_map(|folder| word.strip_prefix(folder.as_str())).unwrap_or(word);
    (!name.contains('/')).then_some(name)
}

fn lists(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|own| own == name)
}

/// Whether a command is one of a program that may run.
fn is_known(words: &[String], reach: Reach) -> bool {
    let words = match words {
        [first, rest @ ..] if first == "busybox" => rest,
        words => words,
    };
    let Some((first, rest)) = words.split_first() else { return false };
    let Some(name) = program(first) else { return false };
    let of_devices = lists(&KNOWN.of_devices, name);
    let is_reader = lists(&KNOWN.readers, name) || of_devices;
    let follows = |word: &String| {
        word == "--d"
            || KNOWN.never.iter().any(|own| word.starts_with(own))
            || word.starts_with('-') && !word.starts_with("--") && word.contains(['R', 'L'])
    };
    match rest {
        [option] if option == "--version" => true,
        rest if reach == Reach::Network => {
            let own = KNOWN.starts.get(name).map_or(&[][..], Vec::as_slice);
            let starts = |word: &String| {
                word.starts_with("-exec") || word.starts_with("-ok") || own.iter().any(|own| glob(own, word))
            };
            (is_reader || lists(&KNOWN.clients, name)) && !rest.iter().any(starts)
        }
        rest => is_reader && rest.iter().all(|word| !follows(word) && stays(word, of_devices)),
    }
}

/// Whether a word names no file of a process or of a disk, by which other namespaces are reached.
fn stays(word: &str, of_devices: bool) -> bool {
    if word.contains("..") {
        return false;
    }
    let parts: Vec<&str> = word.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let is_folder = |part: &str, folder: &str, has_more: bool| {
        let before = part.strip_suffix(folder);
        before.is_some_and(|before| {
            has_more || !before.ends_with(|c: char| c.is_alphanumeric() || "._-".contains(c))
        })
    };
    parts.iter().enumerate().all(|(at, part)| {
        let next = parts.get(at + 1);
        let is_within = |folder: &str, files: &str| {
            !is_folder(part, folder, next.is_some()) || next.is_some_and(|next| lists(files, next))
        };
        is_within("proc", &KNOWN.proc) && (of_devices || is_within("dev", &KNOWN.dev))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &[&str], reach: Reach) -> bool {
        let words: Vec<String> = text.iter().map(|word| (*word).to_owned()).collect();
        Command { words: &words, folder: "/", variables: &[] }.refusal(reach).is_none()
    }

    #[test]
    fn commands_that_only_read_files_of_the_container_run() {
        for words in [
            &["cat", "/etc/os-release"][..],
            &["ls", "-la", "/config"],
            &["/bin/grep", "-r", "x", "/config"],
            &["cat", "/host/proc/meminfo"],
            &["cat", "/proc/mounts", "/sys/class/net/eth0/mtu"],
            &["sh", "-c", "grep -c 'a b' /config/x.log 2>/dev/null | sort -u; df -h && ps aux"],
            &["smartctl", "-a", "/dev/sda"],
            &["node_exporter", "--version"],
            &["busybox", "cat", "/etc/hosts"],
            &["find", "/config", "-name", "x"],
        ] {
            assert!(runs(words, Reach::Host), "{words:?}");
            assert!(!runs(words, Reach::Engine), "{words:?}");
        }
    }

    #[test]
    fn clients_in_the_network_of_the_host_start_no_program() {
        for (words, passes) in [
            (&["tailscale", "status"][..], true),
            (&["tailscale", "ssh", "root@nas", "id"], false),
            (&["tailscale", "--socket=/x", "nc", "nas", "2375"], false),
            (&["ip", "-br", "addr"], true),
            (&["ip", "netns", "list"], true),
            (&["ip", "netns", "exec", "x", "docker", "ps"], false),
            (&["ip", "vrf", "e", "x", "docker", "ps"], false),
            (&["ip", "-batch", "/tmp/x"], false),
            (&["ip", "-b", "-"], false),
            (&["sh", "-c", "ip a; ip netns exe x id"], false),
        ] {
            assert_eq!(runs(words, Reach::Network), passes, "{words:?}");
        }
    }

    #[test]
    fn commands_that_reach_another_namespace_do_not_run() {
        for words in [
            &["nsenter", "-t", "1", "-m", "--", "docker", "inspect", "x"][..],
            &["chroot", "/proc/1/root", "docker", "inspect", "x"],
            &["docker", "--host", "unix:///proc/1/root/var/run/docker.sock", "inspect", "x"],
            &["nc", "-U", "/proc/1/root/run/docker.sock"],
            &["curl", "http://127.0.0.1:2375/info"],
            &["crictl", "inspect", "x"],
            &["ctr", "c", "ls"],
            &["debugfs", "-R", "ls", "/dev/sda1"],
            &["ls", "-la", "/proc/1/root/home"],
            &["cat", "proc/1/root/etc/x"],
            &["cat", "//proc/./1/cwd/x"],
            &["grep", "-f/proc/1/root/x", "y"],
            &["grep", "-R", "x", "/"],
            &["find", "-L", "/", "-name", "x"],
            &["find", "/", "-exec", "docker", "inspect", "x", "{}"],
            &["sort", "--files0-from=-"],
            &["cat", "/dev/sda"],
            &["cat", "/etc/../proc/1/root/x"],
            &["ls", "/proc"],
            &["/tmp/cat", "x"],
            &["sh", "-c", "f() { cat; }; f </proc/1/root/x"],
            &["sh", "-c", "cd /proc/1; cat root/x"],
            &["sh", "-c", "cat /pro?/1/root/x"],
            &["sh", "-c", "cat \"$x\""],
            &["sh", "-c", "cat x & docker ps"],
            &["sh", "-c", "cat x |& docker ps"],
            &["sh", "-c", "cat x >/dev/sda"],
            &["sh"],
            &[],
        ] {
            assert!(!runs(words, Reach::Host), "{words:?}");
        }
        let words = ["cat", "root/x"].map(str::to_owned);
        assert!(Command { words: &words, folder: "/proc/1", variables: &[] }.refusal(Reach::Host).is_some());
        let variables = ["LD_PRELOAD=/x".to_owned()];
        let command = Command { words: &words, folder: "/", variables: &variables };
        assert!(command.refusal(Reach::Host).is_some());
    }

    #[test]
    fn the_network_of_the_host_leads_to_no_files() {
        for (words, expected) in [
            (&["cat", "/proc/1/status"][..], true),
            (&["tailscale", "status"], true),
            (&["curl", "http://127.0.0.1:2375/info"], false),
            (&["find", "/", "-exec", "curl", "x", "{}"], false),
            (&["sh", "-c", "ls /x | head -3"], true),
            (&["python3", "-c", "x"], false),
        ] {
            assert_eq!(runs(words, Reach::Network), expected, "{words:?}");
        }
    }
}

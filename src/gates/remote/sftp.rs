//! The requests of the SFTP protocol, version 3: each one that opens or changes a file, as the bash command that does the same.
//! <https://datatracker.ietf.org/doc/html/draft-ietf-secsh-filexfer-02>; extensions: `PROTOCOL` of OpenSSH.

use std::collections::HashMap;
use std::slice::Iter;

use tokio::sync::oneshot;

use super::transfers::upload;
use opsctl_probe::health::quoted;

/// The size of the length before each packet in bytes.
pub const LENGTH: usize = 4;

/// The largest packet in bytes: OpenSSH takes 256 KiB, and data has a head.
pub const MOST: usize = 257 * 1024;

/// The flags of an open that write: `WRITE`, `APPEND`, `CREAT`, `TRUNC`.
const WRITES: u32 = 0x02 | 0x04 | 0x08 | 0x10;

/// The rights that a client can give what it creates: the umask of the server removes those of others to write.
const CREATED: u32 = 0o7755;

/// The most files that are open, and requests without an answer; the server has fewer.
const MOST_OPEN: usize = 4096;

/// The number of the requests of the gate itself.
pub const OWN: u32 = u32::MAX;

/// The kinds of packets that have a name here.
const INIT: u8 = 1;
const VERSION: u8 = 2;
const OPEN: u8 = 3;
const CLOSE: u8 = 4;
const REALPATH: u8 = 16;
const SYMLINK: u8 = 20;
const HANDLE: u8 = 102;
const NAME: u8 = 104;
const EXTENDED: u8 = 200;

/// What a request does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// Nothing that depends on a policy: it concerns a file that is open, or names and attributes.
    Passes,
    /// The same as this command.
    Command(String),
    /// The same as this command, with a path that the server cannot follow: its system may, and elsewhere.
    Unfollowed(String),
    /// Something that cannot be determined.
    Unknown,
}

/// A request.
#[derive(Debug)]
pub struct Request {
    /// Its number, which its answer repeats.
    pub id: u32,
    /// What it does.
    pub does: Does,
    /// What its answer changes; `None` if it has none.
    pub waits: Option<Waits>,
}

/// What the answer to a request changes.
#[derive(Debug)]
pub enum Waits {
    /// Nothing.
    Nothing,
    /// It has the handle of this path.
    Opens(String),
    /// This handle is not in use any more.
    Closes(Vec<u8>),
    /// It has the real path that the gate itself has asked for.
    Real(oneshot::Sender<Option<Vec<u8>>>),
}

/// The files that are open, by handle, and the requests without an answer.
#[derive(Debug, Default)]
pub struct Files {
    open: HashMap<Vec<u8>, String>,
    waiting: HashMap<u32, Waits>,
}

impl Files {
    /// Reads a packet of the client, without its length, with the real paths of [`paths`] that the server knows.
    pub fn request(&self, packet: &[u8], real: &[Option<Vec<u8>>]) -> Request {
        let mut reader = Reader { rest: packet, real: None };
        let kind = reader.byte().unwrap_or_default();
        if kind == INIT {
            return Request { id: 0, does: Does::Passes, waits: None };
        }
        let id = reader.number();
        // The answer to a number that is used twice could give a handle another path.
        let free = id.filter(|id| *id != OWN && !self.waiting.contains_key(id));
        let does = free.filter(|_| self.waiting.len() < MOST_OPEN && self.open.len() < MOST_OPEN);
        let does = does.and_then(|_| self.does(kind, reader.rest, real));
        let (does, waits) = does.unwrap_or((Does::Unknown, Waits::Nothing));
        Request { id: id.unwrap_or_default(), does, waits: Some(waits) }
    }

    /// A request is passed on.
    pub fn passed(&mut self, id: u32, waits: Waits) {
        if let Waits::Closes(handle) = &waits {
            self.open.remove(handle);
        }
        self.waiting.insert(id, waits);
    }

    /// Reads a packet of the server, without its length. Returns whether it is for the client.
    pub fn answer(&mut self, packet: &[u8]) -> bool {
        let mut reader = Reader { rest: packet, real: None };
        let (Some(kind), Some(id)) = (reader.byte(), reader.number()) else { return true };
        if kind == VERSION {
            return true;
        }
        match self.waiting.remove(&id) {
            Some(Waits::Opens(path)) if kind == HANDLE => {
                self.open.extend(reader.bytes().map(|handle| (handle.to_vec(), path)));
            }
            // A handle may have been given again since the request.
            Some(Waits::Closes(handle)) => drop(self.open.remove(&handle)),
            Some(Waits::Real(answer)) => {
                let name = if kind == NAME { reader.number().and_then(|_| reader.bytes()) } else { None };
                // Without a receiver, the client has gone.
                let _ = answer.send(name.map(<[u8]>::to_vec));
                return false;
            }
            _ => {}
        }
        true
    }

    fn does(&self, kind: u8, rest: &[u8], real: &[Option<Vec<u8>>]) -> Option<(Does, Waits)> {
        let reader = || Reader { rest, real: None };
        let Some(mut command) = self.command(kind, &mut reader())? else {
            let waits =
                if kind == CLOSE { Waits::Closes(reader().bytes()?.to_vec()) } else { Waits::Nothing };
            return Some((Does::Passes, waits));
        };
        let Some(really) = self.command(kind, &mut Reader { rest, real: Some(real.iter()) }) else {
            return Some((Does::Unfollowed(command), Waits::Nothing));
        };
        let really = really?;
        if really != command {
            command = format!("{command}; {really}");
        }
        let waits = if kind == OPEN {
            Waits::Opens(Reader { rest, real: Some(real.iter()) }.path()?)
        } else {
            Waits::Nothing
        };
        Some((Does::Command(command), waits))
    }

    /// The command that does the same as a request; `Some(None)` if it does nothing that depends on a policy.
    #[expect(clippy::option_option, reason = "what is not known and what is allowed are different things")]
    fn command(&self, kind: u8, reader: &mut Reader<'_>) -> Option<Option<String>> {
        let with = |command: String, attributes: String| match attributes.as_str() {
            "" => command,
            attributes => format!("{command}; {attributes}"),
        };
        Some(Some(match kind {
            OPEN => {
                let (path, flags) = (reader.path()?, reader.number()?);
                let command = if flags & WRITES == 0 { format!("cat {path}") } else { upload(&path) };
                with(command, reader.attributes(&path, CREATED)?)
            }
            10 => {
                let path = self.open.get(reader.bytes()?)?.clone();
                reader.attributes(&path, 0o7777)?
            }
            9 => {
                let path = reader.path()?;
                reader.attributes(&path, 0o7777)?
            }
            13 => format!("rm {}", reader.path()?),
            14 => {
                let path = reader.path()?;
                with(format!("mkdir {path}"), reader.attributes(&path, CREATED)?)
            }
            15 => format!("rmdir {}", reader.path()?),
            18 => format!("mv {} {}", reader.path()?, reader.path()?),
            SYMLINK => reader.link("ln -s")?,
            // READ, WRITE, LSTAT, FSTAT, OPENDIR, READDIR, REALPATH, STAT, READLINK.
            CLOSE..=8 | 11 | 12 | REALPATH | 17 | 19 => return Some(None),
            EXTENDED => match reader.bytes()? {
                b"posix-rename@openssh.com" => format!("mv {} {}", reader.path()?, reader.path()?),
                b"hardlink@openssh.com" => reader.link("ln")?,
                b"lsetstat@openssh.com" => {
                    let path = reader.path()?;
                    reader.attributes(&path, 0o7777)?
                }
                // These concern open files, or names.
                b"fsync@openssh.com"
                | b"copy-data"
                | b"statvfs@openssh.com"
                | b"fstatvfs@openssh.com"
                | b"limits@openssh.com"
                | b"expand-path@openssh.com"
                | b"home-directory"
                | b"users-groups-by-id@openssh.com" => return Some(None),
                _ => return None,
            },
            _ => return None,
        }))
    }
}

/// The paths that a request names, in its order. Where a link leads is stated as seen from its folder.
pub fn paths(packet: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = Reader { rest: packet.get(LENGTH + 1..).unwrap_or_default(), real: None };
    let (number, is_link) = match packet.first().copied().unwrap_or_default() {
        OPEN | 9 | 13 | 14 | 15 => (1, false),
        18 => (2, false),
        SYMLINK => (2, true),
        EXTENDED => match reader.bytes() {
            Some(b"posix-rename@openssh.com" | b"hardlink@openssh.com") => (2, false),
            Some(b"lsetstat@openssh.com") => (1, false),
            _ => (0, false),
        },
        _ => (0, false),
    };
    let mut paths: Vec<Vec<u8>> = (0..number).map_while(|_| reader.bytes().map(<[u8]>::to_vec)).collect();
    if let [target, link] = paths.as_mut_slice()
        && is_link
        && !target.starts_with(b"/")
    {
        let folder = link.iter().rposition(|byte| *byte == b'/').and_then(|at| link.get(..=at));
        *target = [folder.unwrap_or_default(), target].concat();
    }
    paths
}

/// The request, with its length, for the real path of a path.
pub fn real_path(path: &[u8]) -> Vec<u8> {
    let length = |length: usize| u32::try_from(length).unwrap_or_default().to_be_bytes();
    let body = [&[REALPATH][..], &OWN.to_be_bytes(), &length(path.len()), path].concat();
    [&length(body.len()), body.as_slice()].concat()
}

/// The answer, with its length, that a request is not permitted, for this reason.
pub fn denied(id: u32, reason: &str) -> Vec<u8> {
    const PERMISSION_DENIED: u32 = 3;
    let text = |text: &str| [&u32::try_from(text.len()).unwrap_or(0).to_be_bytes(), text.as_bytes()].concat();
    let body =
        [&[101][..], &id.to_be_bytes(), &PERMISSION_DENIED.to_be_bytes(), &text(reason), &text("")].concat();
    [&u32::try_from(body.len()).unwrap_or(0).to_be_bytes(), body.as_slice()].concat()
}

/// The rest of a packet, and the real paths that take the place of those in it, where they are known.
struct Reader<'a> {
    rest: &'a [u8],
    real: Option<Iter<'a, Option<Vec<u8>>>>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    /// A path as a word for bash. One that begins with a dash is not an option.
    fn path(&mut self) -> Option<String> {
        let stated = self.bytes()?;
        // A path that the server cannot follow, such as one with too many links, may be followed by its system.
        let real = match self.real.as_mut().and_then(Iterator::next) {
            Some(real) => real.as_deref()?,
            None => stated,
        };
        let path = String::from_utf8_lossy(real);
        Some(quoted(&if path.starts_with('-') { format!("./{path}") } else { path.into_owned() }))
    }

    /// The command that makes a link. Through it, everything below what it leads to can be read and written.
    fn link(&mut self, program: &str) -> Option<String> {
        let is_known = self.real.clone().is_none_or(|mut real| real.next().is_some_and(Option::is_some));
        let is_real = self.real.is_some();
        // A link that leads up leads elsewhere when it is moved.
        let leads_up = Reader { rest: self.rest, real: None }
            .bytes()?
            .split(|byte| *byte == b'/')
            .any(|part| part == b"..");
        let (target, link) = (self.path()?, self.path()?);
        let below =
            if is_real { format!("; tar c -- {target}; opsctl-receive -r {target}") } else { String::new() };
        (is_known && !leads_up).then(|| format!("{program} {target} {link}{below}"))
    }

    /// The command that gives a file these attributes, with the rights of a mask.
    fn attributes(&mut self, path: &str, mask: u32) -> Option<String> {
        let flags = self.number()?;
        let mut commands = Vec::new();
        if flags & 1 != 0 {
            let size = u64::from_be_bytes(self.take(8)?.try_into().ok()?);
            commands.push(format!("truncate -s {size} {path}"));
        }
        if flags & 2 != 0 {
            commands.push(format!("chown {}:{} {path}", self.number()?, self.number()?));
        }
        if flags & 4 != 0 {
            commands.push(format!("chmod {:o} {path}", self.number()? & mask));
        }
        if flags & 8 != 0 {
            commands.push(format!("touch {path}"));
        }
        // Other flags are extended attributes, which no server supports.
        Some(commands.join("; ")).filter(|_| flags & !0xF == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&u32::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat()
    }

    fn packet(kind: u8, parts: &[Vec<u8>]) -> Vec<u8> {
        [&[kind][..], &7_u32.to_be_bytes(), &parts.concat()].concat()
    }

    fn does(kind: u8, parts: &[Vec<u8>]) -> Does {
        let request = Files::default().request(&packet(kind, parts), &[]);
        assert_eq!(request.id, 7);
        request.does
    }

    fn number(number: u32) -> Vec<u8> {
        number.to_be_bytes().to_vec()
    }

    #[test]
    fn requests_are_stated_as_commands() {
        for (kind, parts, command) in [
            (3, vec![text("/etc/x"), number(1), number(0)], "cat /etc/x"),
            (3, vec![text("/etc/x"), number(0x1a), number(0)], "cp /tmp/opsctl-stream /etc/x"),
            (3, vec![text("/etc/x"), number(3), number(0)], "cp /tmp/opsctl-stream /etc/x"),
            (
                9,
                vec![text("a b"), number(5), vec![0; 8], number(0o644)],
                "truncate -s 0 'a b'; chmod 644 'a b'",
            ),
            (13, vec![text("-rf")], "rm ./-rf"),
            (14, vec![text("/d"), number(0)], "mkdir /d"),
            (14, vec![text("/d"), number(4), number(0o2777)], "mkdir /d; chmod 2755 /d"),
            (9, vec![text("/d"), number(4), number(0o777)], "chmod 777 /d"),
            (
                3,
                vec![text("/etc/x"), number(0x1a), number(4), number(0o104_755)],
                "cp /tmp/opsctl-stream /etc/x; chmod 4755 /etc/x",
            ),
            (18, vec![text("/a"), text("/b")], "mv /a /b"),
        ] {
            assert_eq!(does(kind, &parts), Does::Command(command.to_owned()));
        }
        for kind in [5, 6, 7, 8, 11, 12, 16, 17, 19] {
            assert_eq!(does(kind, &[text("/x")]), Does::Passes);
        }
        for (kind, parts) in [
            (3, vec![text("/x")]),
            (9, vec![text("/x"), number(0x8000_0000)]),
            (13, vec![number(90), vec![b'x']]),
            (10, vec![text("never opened"), number(4), number(0o777)]),
            (200, vec![text("unheard-of@example.com")]),
            (20, vec![text("/a"), text("/b")]),
            (200, vec![text("hardlink@openssh.com"), text("/a"), text("/b")]),
            (99, vec![]),
        ] {
            assert!(matches!(does(kind, &parts), Does::Unknown | Does::Unfollowed(_)), "{kind}");
        }
        assert_eq!(Files::default().request(&[1, 0, 0, 0, 3], &[]).does, Does::Passes);
        assert_eq!(Files::default().request(&[], &[]).does, Does::Unknown);
    }

    #[test]
    fn real_paths_are_stated_beside_those_of_the_client() {
        let real = |kind, parts: &[Vec<u8>], real: &[&str]| {
            let packet = packet(kind, parts);
            assert_eq!(paths(&packet).len(), real.len());
            let real: Vec<_> = real.iter().map(|path| Some(path.as_bytes().to_vec())).collect();
            Files::default().request(&packet, &real).does
        };
        let open = [text("/tmp/l/x"), number(1), number(0)];
        let both = "cat /tmp/l/x; cat /etc/x";
        assert_eq!(real(3, &open, &["/etc/x"]), Does::Command(both.to_owned()));
        let once = "cat /tmp/l/x";
        assert_eq!(real(3, &open, &["/tmp/l/x"]), Does::Command(once.to_owned()));
        let link = [text("/etc"), text("/tmp/l")];
        let all = "ln -s /etc /tmp/l; ln -s /etc /tmp/l; tar c -- /etc; opsctl-receive -r /etc";
        assert_eq!(real(20, &link, &["/etc", "/tmp/l"]), Does::Command(all.to_owned()));
        let up = [text("../etc"), text("/tmp/l")];
        assert_eq!(real(20, &up, &["/etc", "/tmp/l"]), Does::Unknown);
        assert_eq!(paths(&packet(20, &up)), [b"/tmp/../etc".to_vec(), b"/tmp/l".to_vec()]);
        let unfollowed = Files::default().request(&packet(3, &open), &[None]).does;
        assert_eq!(unfollowed, Does::Unfollowed("cat /tmp/l/x".to_owned()));
        let mut files = Files::default();
        let (answer, mut real) = oneshot::channel();
        files.passed(OWN, Waits::Real(answer));
        assert!(!files.answer(&[&[104][..], &OWN.to_be_bytes(), &number(1), &text("/etc")].concat()));
        assert_eq!(real.try_recv(), Ok(Some(b"/etc".to_vec())));
    }

    #[test]
    fn the_attributes_of_an_open_file_concern_its_path() {
        let numbered =
            |id: u32, kind: u8, parts: &[Vec<u8>]| [&[kind][..], &id.to_be_bytes(), &parts.concat()].concat();
        let mut files = Files::default();
        let passes = |files: &mut Files, packet: &[u8]| {
            let Request { id, does, waits } = files.request(packet, &[]);
            if does != Does::Unknown {
                files.passed(id, waits.unwrap());
            }
            does
        };
        let open = |id, path: &str| numbered(id, 3, &[text(path), number(1), number(0)]);
        let handle = |id| numbered(id, 102, &[text("h0")]);
        let change = |id| numbered(id, 10, &[text("h0"), number(4), number(0o4755)]);
        let chmod = Does::Command("chmod 4755 /etc/x".to_owned());
        passes(&mut files, &open(1, "/etc/x"));
        // A number that is in use, and that of the gate.
        assert_eq!(passes(&mut files, &open(1, "/tmp/x")), Does::Unknown);
        assert_eq!(passes(&mut files, &open(OWN, "/tmp/x")), Does::Unknown);
        files.answer(&handle(1));
        assert_eq!(passes(&mut files, &change(2)), chmod);
        // A handle that is closed while it is given again belongs to no path.
        passes(&mut files, &numbered(3, 4, &[text("h0")]));
        assert_eq!(passes(&mut files, &change(4)), Does::Unknown);
        passes(&mut files, &open(5, "/tmp/x"));
        passes(&mut files, &numbered(6, 4, &[text("h0")]));
        files.answer(&handle(5));
        files.answer(&numbered(6, 101, &[number(0)]));
        assert_eq!(passes(&mut files, &change(7)), Does::Unknown);
    }

    #[test]
    fn a_denial_is_a_packet_with_the_reason() {
        let denied = denied(7, "no");
        assert_eq!(denied[..4], u32::try_from(denied.len() - 4).unwrap().to_be_bytes());
        assert_eq!(denied[4..], [&[101, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 2][..], b"no", &[0; 4]].concat());
    }
}

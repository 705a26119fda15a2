//! The requests of the SFTP protocol, version 3: each one that opens or changes a file, as the bash command that does the same.
//! <https://datatracker.ietf.org/doc/html/draft-ietf-secsh-filexfer-02>; extensions: `PROTOCOL` of OpenSSH.

use std::collections::HashMap;

use super::stated::{quoted, upload};

/// The size of the length before each packet in bytes.
pub const LENGTH: usize = 4;

/// The largest packet in bytes: OpenSSH takes 256 KiB, and data has a head.
pub const MOST: usize = 257 * 1024;

/// The flags of an open that write: `WRITE`, `APPEND`, `CREAT`, `TRUNC`.
const WRITES: u32 = 0x02 | 0x04 | 0x08 | 0x10;

/// The most files that are open at once; the server has fewer.
const MOST_OPEN: usize = 4096;

/// What a request does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// Nothing that depends on a policy: it concerns a file that is open, or names and attributes.
    Passes,
    /// The same as this command.
    Command(String),
    /// The same as this command, which writes to a path, as programs write it with the host.
    Writes(String, String),
    /// Something that cannot be determined.
    Unknown,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its number, which its answer repeats.
    pub id: u32,
    /// What it does.
    pub does: Does,
}

/// The files that are open, by handle, and those whose opening has been requested, by request.
#[derive(Debug, Default)]
pub struct Files {
    open: HashMap<Vec<u8>, String>,
    requested: HashMap<u32, String>,
}

impl Files {
    /// Reads a packet of the client, without its length, for a host. A request that opens a file counts from then on.
    pub fn request(&mut self, host: &str, packet: &[u8]) -> Request {
        let mut reader = Reader(packet);
        let kind = reader.byte().unwrap_or_default();
        if kind == 1 {
            return Request { id: 0, does: Does::Passes };
        }
        let Some(id) = reader.number() else { return Request { id: 0, does: Does::Unknown } };
        let does = self.does(host, kind, id, &mut reader).unwrap_or(Does::Unknown);
        Request { id, does }
    }

    /// A request that opens a file is not passed on.
    pub fn denied(&mut self, id: u32) {
        self.requested.remove(&id);
    }

    /// Reads a packet of the server, without its length.
    pub fn answer(&mut self, packet: &[u8]) {
        let mut reader = Reader(packet);
        let (Some(kind), Some(id)) = (reader.byte(), reader.number()) else { return };
        let requested = self.requested.remove(&id);
        if let (102, Some(path), Some(handle)) = (kind, requested, reader.bytes())
            && self.open.len() < MOST_OPEN
        {
            self.open.insert(handle.to_vec(), path);
        }
    }

    fn does(&mut self, host: &str, kind: u8, id: u32, reader: &mut Reader<'_>) -> Option<Does> {
        let remote = |command: String| Does::Command(format!("ssh {host} {}", quoted(&command)));
        Some(match kind {
            3 => {
                let mut own = Reader(reader.0);
                let shown = format!("{host}:{}", String::from_utf8_lossy(own.bytes()?));
                let (path, flags) = (reader.path()?, reader.number()?);
                // The answer to a number that is used twice could give a handle the other path.
                if self.requested.len() >= MOST_OPEN || self.requested.contains_key(&id) {
                    return None;
                }
                self.requested.insert(id, path.clone());
                match flags & WRITES {
                    0 => remote(format!("cat {path}")),
                    _ => match remote(upload(&path)) {
                        Does::Command(command) => Does::Writes(command, shown),
                        does => does,
                    },
                }
            }
            4 => {
                self.open.remove(reader.bytes()?);
                Does::Passes
            }
            10 => {
                let path = self.open.get(reader.bytes()?)?.clone();
                remote(reader.attributes(&path)?)
            }
            9 => {
                let path = reader.path()?;
                remote(reader.attributes(&path)?)
            }
            13 => remote(format!("rm {}", reader.path()?)),
            14 => remote(format!("mkdir {}", reader.path()?)),
            15 => remote(format!("rmdir {}", reader.path()?)),
            18 => remote(format!("mv {} {}", reader.path()?, reader.path()?)),
            20 => remote(format!("ln -s {} {}", reader.path()?, reader.path()?)),
            // READ, WRITE, LSTAT, FSTAT, OPENDIR, READDIR, REALPATH, STAT, READLINK.
            5..=8 | 11 | 12 | 16 | 17 | 19 => Does::Passes,
            200 => match reader.bytes()? {
                b"posix-rename@openssh.com" => remote(format!("mv {} {}", reader.path()?, reader.path()?)),
                b"hardlink@openssh.com" => remote(format!("ln {} {}", reader.path()?, reader.path()?)),
                b"lsetstat@openssh.com" => {
                    let path = reader.path()?;
                    remote(reader.attributes(&path)?)
                }
                // These concern open files, or names.
                b"fsync@openssh.com"
                | b"copy-data"
                | b"statvfs@openssh.com"
                | b"fstatvfs@openssh.com"
                | b"limits@openssh.com"
                | b"expand-path@openssh.com"
                | b"home-directory"
                | b"users-groups-by-id@openssh.com" => Does::Passes,
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// The answer, with its length, that a request is not permitted, for this reason.
pub fn denied(id: u32, reason: &str) -> Vec<u8> {
    const PERMISSION_DENIED: u32 = 3;
    let text = |text: &str| [&u32::try_from(text.len()).unwrap_or(0).to_be_bytes(), text.as_bytes()].concat();
    let body =
        [&[101][..], &id.to_be_bytes(), &PERMISSION_DENIED.to_be_bytes(), &text(reason), &text("")].concat();
    [&u32::try_from(body.len()).unwrap_or(0).to_be_bytes(), body.as_slice()].concat()
}

/// The rest of a packet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
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
        let path = String::from_utf8_lossy(self.bytes()?);
        Some(quoted(&if path.starts_with('-') { format!("./{path}") } else { path.into_owned() }))
    }

    /// The command that gives a file these attributes.
    fn attributes(&mut self, path: &str) -> Option<String> {
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
            commands.push(format!("chmod {:o} {path}", self.number()? & 0o7777));
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
        let request = Files::default().request("ie01", &packet(kind, parts));
        assert_eq!(request.id, 7);
        request.does
    }

    fn number(number: u32) -> Vec<u8> {
        number.to_be_bytes().to_vec()
    }

    #[test]
    fn requests_are_stated_as_commands() {
        for (kind, parts, command) in [
            (3, vec![text("/etc/x"), number(1), number(0)], r"ssh ie01 'cat '\''/etc/x'\'''"),
            (
                3,
                vec![text("/etc/x"), number(0x1a), number(0)],
                r"ssh ie01 'cp /tmp/opsctl-stream '\''/etc/x'\'''",
            ),
            (
                3,
                vec![text("/etc/x"), number(3), number(0)],
                r"ssh ie01 'cp /tmp/opsctl-stream '\''/etc/x'\'''",
            ),
            (
                9,
                vec![text("a b"), number(5), vec![0; 8], number(0o644)],
                r"ssh ie01 'truncate -s 0 '\''a b'\''; chmod 644 '\''a b'\'''",
            ),
            (13, vec![text("-rf")], r"ssh ie01 'rm '\''./-rf'\'''"),
            (14, vec![text("/d"), number(0)], r"ssh ie01 'mkdir '\''/d'\'''"),
            (18, vec![text("/a"), text("/b")], r"ssh ie01 'mv '\''/a'\'' '\''/b'\'''"),
            (
                200,
                vec![text("hardlink@openssh.com"), text("/a"), text("/b")],
                r"ssh ie01 'ln '\''/a'\'' '\''/b'\'''",
            ),
        ] {
            let found = match does(kind, &parts) {
                Does::Writes(command, shown) => {
                    assert_eq!(shown, "ie01:/etc/x");
                    Does::Command(command)
                }
                found => found,
            };
            assert_eq!(found, Does::Command(command.to_owned()));
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
            (99, vec![]),
        ] {
            assert_eq!(does(kind, &parts), Does::Unknown, "{kind}");
        }
        assert_eq!(Files::default().request("ie01", &[1, 0, 0, 0, 3]).does, Does::Passes);
        assert_eq!(Files::default().request("ie01", &[]).does, Does::Unknown);
    }

    #[test]
    fn the_attributes_of_an_open_file_concern_its_path() {
        let mut files = Files::default();
        files.request("ie01", &packet(3, &[text("/etc/x"), number(1), number(0)]));
        files.answer(&packet(102, &[text("h0")]));
        let change = packet(10, &[text("h0"), number(4), number(0o4755)]);
        let chmod = Does::Command(r"ssh ie01 'chmod 4755 '\''/etc/x'\'''".to_owned());
        assert_eq!(files.request("ie01", &change).does, chmod);
        files.request("ie01", &packet(4, &[text("h0")]));
        assert_eq!(files.request("ie01", &change).does, Does::Unknown);
        // A number that is used twice at once gives no handle another path.
        let open = |path: &str| packet(3, &[text(path), number(1), number(0)]);
        files.request("ie01", &open("/etc/x"));
        assert_eq!(files.request("ie01", &open("/tmp/x")).does, Does::Unknown);
    }

    #[test]
    fn a_denial_is_a_packet_with_the_reason() {
        let denied = denied(7, "no");
        assert_eq!(denied[..4], u32::try_from(denied.len() - 4).unwrap().to_be_bytes());
        assert_eq!(denied[4..], [&[101, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 2][..], b"no", &[0; 4]].concat());
    }
}

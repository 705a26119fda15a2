//! What a call of ssh asks for: its options, which are a closed list (`options.yaml`), its destination and its command.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The list of options.
static OPTIONS: LazyLock<Options> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("options.yaml")).unwrap_or_default());

/// The options that the broker takes. Any other is refused.
#[derive(Debug, Default, Deserialize)]
struct Options {
    ignored: String,
    ignored_with_value: String,
    settings: Vec<String>,
    settings_with: BTreeMap<String, Vec<String>>,
    refused: Vec<Refused>,
}

/// Options that are refused for one reason.
#[derive(Debug, Deserialize)]
struct Refused {
    #[serde(default)]
    letters: String,
    #[serde(default)]
    settings: Vec<String>,
    why: String,
}

/// What a call of ssh asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// The destination as written.
    pub destination: String,
    /// The user of `-l` or `-o User`.
    pub user: Option<String>,
    /// The port of `-p` or `-o Port`.
    pub port: Option<String>,
    /// The words of the remote command, which ssh joins with blanks.
    pub command: Vec<Vec<u8>>,
    /// `-s`: the command is the name of a subsystem.
    pub is_subsystem: bool,
    /// `-n`: stdin is empty.
    pub no_stdin: bool,
    /// How often `-t` is given: twice asks for a terminal although there is none here.
    pub terminals: u8,
}

impl Asked {
    /// Reads the arguments of ssh, without the name of the program. The error is a line for the caller.
    pub fn read(arguments: &[Vec<u8>]) -> Result<Self, String> {
        let mut asked = Self::default();
        let mut rest = arguments;
        let mut is_host_known = false;
        while let Some((word, after)) = rest.split_first() {
            match word.strip_prefix(b"-") {
                Some(b"-") => {
                    rest = after;
                    if !is_host_known {
                        let (host, after) = rest.split_first().ok_or("it names no host")?;
                        asked.destination = String::from_utf8_lossy(host).into_owned();
                        is_host_known = true;
                        rest = after;
                    }
                    break;
                }
                Some(letters) if !letters.is_empty() => {
                    rest = asked.cluster(&String::from_utf8_lossy(letters), after)?;
                }
                _ if is_host_known => break,
                _ => {
                    asked.destination = String::from_utf8_lossy(word).into_owned();
                    is_host_known = true;
                    rest = after;
                }
            }
        }
        if !is_host_known {
            return Err("it names no host".to_owned());
        }
        match (rest.is_empty(), asked.command.is_empty()) {
            (false, false) => return Err("it has a command and RemoteCommand; leave one out".to_owned()),
            (false, true) => asked.command = rest.to_vec(),
            (true, _) => {}
        }
        // ssh of the guard would read it as options.
        if asked.text().starts_with(b"-") {
            return Err("its command begins with `-`; name a program".to_owned());
        }
        Ok(asked)
    }

    /// The remote command as the remote shell reads it.
    pub fn text(&self) -> Vec<u8> {
        self.command.join(&b' ')
    }

    /// Reads the letters of one word. Returns the words after it and after its value.
    fn cluster<'a>(&mut self, letters: &str, after: &'a [Vec<u8>]) -> Result<&'a [Vec<u8>], String> {
        for (at, letter) in letters.char_indices() {
            match letter {
                'n' => self.no_stdin = true,
                's' => self.is_subsystem = true,
                't' => self.terminals = self.terminals.saturating_add(1),
                'T' => self.terminals = 0,
                _ if OPTIONS.ignored.contains(letter) => {}
                _ if "lpo".contains(letter) || OPTIONS.ignored_with_value.contains(letter) => {
                    let own = letters.get(at + letter.len_utf8()..).unwrap_or_default();
                    let (value, rest) = if own.is_empty() {
                        let (value, rest) =
                            after.split_first().ok_or_else(|| format!("-{letter} has no value"))?;
                        (String::from_utf8_lossy(value).into_owned(), rest)
                    } else {
                        (own.to_owned(), after)
                    };
                    match letter {
                        'l' => self.user = Some(value),
                        'p' => self.port = Some(value),
                        'o' => self.setting(&value)?,
                        _ => {}
                    }
                    return Ok(rest);
                }
                _ => {
                    let listed = OPTIONS.refused.iter().find(|refused| refused.letters.contains(letter));
                    return Err(refusal(&format!("-{letter}"), listed));
                }
            }
        }
        Ok(after)
    }

    /// Reads a setting of `-o`: `Name=value` or `Name value`.
    fn setting(&mut self, text: &str) -> Result<(), String> {
        let text = text.trim();
        let end = text.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(text.len());
        let (name, value) = text.split_at_checked(end).unwrap_or_default();
        let value = value.trim_start();
        let value = value.strip_prefix('=').unwrap_or(value).trim().trim_matches('"');
        let key = name.to_lowercase();
        match key.as_str() {
            "user" => self.user = Some(value.to_owned()),
            "port" => self.port = Some(value.to_owned()),
            "remotecommand" if value == "none" => {}
            "remotecommand" => self.command = vec![value.as_bytes().to_vec()],
            "requesttty" => self.terminals = if value == "force" { 2 } else { 0 },
            _ if OPTIONS.settings.contains(&key) => {}
            _ if OPTIONS
                .settings_with
                .get(&key)
                .is_some_and(|values| values.contains(&value.to_lowercase())) => {}
            _ => {
                let listed = OPTIONS.refused.iter().find(|refused| refused.settings.contains(&key));
                return Err(refusal(&format!("-o {name}={value}"), listed));
            }
        }
        Ok(())
    }
}

/// The line for an option that is refused.
fn refusal(option: &str, listed: Option<&Refused>) -> String {
    let why = listed.map_or("the broker does not take it", |refused| refused.why.as_str());
    format!("`{option}` is refused: {why}; leave it out")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Asked, String> {
        Asked::read(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>())
    }

    #[test]
    fn options_stand_before_and_after_the_host() {
        let asked = read(&["-qT", "-oBatchMode=yes", "ie01", "-p", "2222", "-l", "bob", "ls", "-l"]).unwrap();
        assert_eq!((asked.destination.as_str(), asked.text()), ("ie01", b"ls -l".to_vec()));
        assert_eq!((asked.port.as_deref(), asked.user.as_deref()), (Some("2222"), Some("bob")));
        let asked = read(&["--", "ie01", "x", "-J"]).unwrap();
        assert_eq!((asked.destination.as_str(), asked.text()), ("ie01", b"x -J".to_vec()));
        for words in [&["--", "ie01", "-v; id"][..], &["ie01", "--", "-J"], &["-oRemoteCommand=-v", "ie01"]] {
            assert!(read(words).unwrap_err().contains("begins with `-`"), "{words:?}");
        }
    }

    #[test]
    fn a_setting_can_be_the_command() {
        for setting in ["RemoteCommand=uptime; id", "remotecommand uptime; id", "RemoteCommand = uptime; id"]
        {
            assert_eq!(read(&["-o", setting, "ie01"]).unwrap().text(), b"uptime; id", "{setting}");
        }
        assert!(read(&["-o", "RemoteCommand=id", "ie01", "ls"]).is_err());
    }

    #[test]
    fn options_that_weaken_or_redirect_and_unknown_ones_are_refused() {
        for words in [
            "-J x",
            "-oProxyJump=x",
            "-oProxyCommand=x",
            "-F x",
            "-i x",
            "-L 1:h:2",
            "-R 1:h:2",
            "-D 1",
            "-A",
            "-w 0",
            "-W h:1",
            "-S x",
            "-M",
            "-N",
            "-f",
            "-oLocalCommand=x",
            "-oPermitLocalCommand=yes",
            "-vA",
            "-Z",
            "-oUserKnownHostsFile=/dev/null",
            "-oStrictHostKeyChecking=no",
            "-oKnownHostsCommand=x",
            "-oHostName=x",
            "-oForwardAgent=yes",
            "-oControlPath=/x",
            "-oUnheardOf=1",
            "-X",
            "-O exit",
            "-I x",
            "-G",
        ] {
            let words: Vec<&str> = words.split(' ').chain(["ie01", "id"]).collect();
            let why = read(&words).unwrap_err();
            assert!(why.contains("is refused: "), "{words:?}: {why}");
        }
    }

    #[test]
    fn options_of_scp_sftp_git_and_ansible_are_taken() {
        for words in [
            "-x -oPermitLocalCommand=no -oClearAllForwardings=yes -oRemoteCommand=none -oRequestTTY=no -oForwardAgent=no -s -- ie01 sftp",
            "-oForwardX11 -oServerAliveInterval=5 -C -4 -tt -n -v -a -k ie01 id",
            "-o SendEnv=GIT_PROTOCOL -p 22 ie01 id",
        ] {
            let words: Vec<&str> = words.split(' ').filter(|word| *word != "-oForwardX11").collect();
            read(&words).unwrap();
        }
        assert!(read(&["-oForwardX11 no", "-oProxyJump=none", "ie01", "id"]).is_ok());
    }
}

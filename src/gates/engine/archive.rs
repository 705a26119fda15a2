//! Files that are copied out of or into a container.

use std::collections::{HashSet, VecDeque};

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use data_encoding::BASE64;
use opsctl_probe::health::line;
use serde::Deserialize;

use super::calls::Call;
use super::container::Container;
use super::judge::{Engine, unanswered};
use crate::gates::containers::commands::is_own_file;
use crate::gates::containers::mounts::{Mount, on_host};
use crate::gates::containers::reach::Reach;
use crate::gates::proxy::request::{Asked, Pass, Refusal};
use crate::gates::proxy::target::Target;

/// The header in which an engine describes a file.
const STAT: &str = "x-docker-container-path-stat";

/// Why files of a container with rights of its host are not copied, and none into a container with mounts.
const RUNS: &str = "this container has processes, rights or disks of its host, and what is copied into it would run with them; ask an operator";
const LEADS: &str = "an archive may have links and any names, which lead to mounts, or replace programs of a container with the network of its host; copy into a container without either, or ask an operator";
const BEYOND: &str = "this container has processes, rights or disks of its host, and this path leads to them; name a file of the container";

/// The kinds of files in a mode, as Go writes it.
const FOLDER: u32 = 1 << 31;
const LINK: u32 = 1 << 27;

/// The most names that are followed of a path and of its links.
const MOST_NAMES: usize = 100;

/// What an engine states of a file.
#[derive(Debug, Deserialize)]
struct Stat {
    mode: u32,
    #[serde(rename = "linkTarget", default)]
    target: String,
}

impl Engine {
    /// Files are copied: judged by each path that they have, in the container and on its host. A folder that is copied out is
    /// read with everything below it.
    pub(super) async fn copy(
        &self,
        asked: &mut Asked,
        call: &Call<'_>,
        (container, reach): (&Container, Reach),
        writes: bool,
    ) -> Result<Pass, Refusal> {
        let mounts = Mount::of(&container.json);
        if writes && reach > Reach::Network {
            return Err(Refusal::forbidden(RUNS));
        }
        if writes && (reach > Reach::Itself || mounts.iter().any(|mount| !mount.source.is_empty())) {
            return Err(Refusal::forbidden(LEADS));
        }
        let stated = asked.target.query.iter_mut().find(|(name, _)| name == "path");
        let stated = stated.map(|(_, path)| path).ok_or_else(|| bad("the path is missing"))?;
        if stated.split('/').any(|part| part == "..") {
            return Err(bad("the path has dots; state it without them"));
        }
        // Podman would begin a relative path at the folder of the image.
        *stated = format!("/{}", stated.trim_start_matches('/'));
        let path = stated.clone();
        let (real, is_folder) = self.found(call, &container.id, &path).await?;
        if reach > Reach::Network && ![&path, &real].into_iter().all(|path| is_own_file(path)) {
            return Err(Refusal::forbidden(BEYOND));
        }
        let plain = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect::<Vec<_>>().join("/");
        let mut paths = vec![path, real.clone()];
        let there = [format!("/{plain}"), real];
        let there = there.iter().flat_map(|path| on_host(&mounts, path, is_folder));
        if writes {
            for path in there {
                self.passes(call.uid, "protect", line(&["touch", "--", &path].map(str::to_owned))).await?;
            }
        } else {
            paths.extend(there);
        }
        let mut seen = HashSet::new();
        paths.retain(|path| seen.insert(path.clone()));
        let within = |words: &[&str], path: &String| {
            let all = [call.program, "exec", &container.word].into_iter().chain(words.iter().copied());
            line(&all.chain([path.as_str()]).map(str::to_owned).collect::<Vec<_>>())
        };
        let copied = |from: &str, to: &str| line(&[call.program, "cp", from, to].map(str::to_owned));
        let state = |path: &String| {
            let there = format!("{}:{path}", container.word);
            match (writes, is_folder) {
                (true, _) => copied("-", &there),
                (false, true) => format!("{}; {}", copied(&there, "-"), within(&["tar", "c", "--"], path)),
                // A copy would be one of everything below it.
                (false, false) => within(&["cat", "--"], path),
            }
        };
        let text: Vec<String> = paths.iter().map(state).collect();
        Ok(self.admitted(call.uid, &text.join("; ")).await?.1)
    }

    /// The path of a file of a container behind all links, and whether it is a folder.
    async fn found(&self, call: &Call<'_>, id: &str, path: &str) -> Result<(String, bool), Refusal> {
        let names = |path: &str| path.split('/').map(str::to_owned).collect::<VecDeque<_>>();
        let (mut done, mut rest, mut is_folder) = (String::new(), names(path), true);
        for _ in 0..MOST_NAMES {
            let Some(name) = rest.pop_front() else {
                return Ok((if done.is_empty() { "/".to_owned() } else { done }, is_folder));
            };
            match name.as_str() {
                "" | "." => {}
                ".." => {
                    done.truncate(done.rfind('/').unwrap_or_default());
                    is_folder = true;
                }
                name => {
                    let next = format!("{done}/{name}");
                    let Stat { mode, target } = self.stat(call, id, &next).await?;
                    is_folder = mode & FOLDER != 0;
                    if mode & LINK == 0 {
                        done = next;
                        continue;
                    }
                    if target.starts_with('/') {
                        done.clear();
                    }
                    let mut within = names(&target);
                    within.append(&mut rest);
                    rest = within;
                }
            }
        }
        Err(bad("the path has too many parts or links"))
    }

    /// What an engine states of a file of a container.
    async fn stat(&self, call: &Call<'_>, id: &str, path: &str) -> Result<Stat, Refusal> {
        let segments = ["containers", id, "archive"].map(str::to_owned);
        let segments = call.prefix.iter().cloned().chain(segments).collect();
        let target = Target { segments, query: vec![("path".to_owned(), path.to_owned())] };
        let mut request = Request::new(Body::empty());
        *request.method_mut() = Method::HEAD;
        *request.uri_mut() = target.uri().ok_or_else(|| unanswered("the path is too long"))?;
        let answer = self.sent(request).await?;
        let missing = || {
            Refusal::new(StatusCode::NOT_FOUND, format!("Could not find the file {path} in container {id}"))
        };
        match answer.status() {
            StatusCode::OK => {
                let bytes = answer.headers().get(STAT).and_then(|text| BASE64.decode(text.as_bytes()).ok());
                let stat = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
                stat.ok_or_else(|| unanswered("its description of a file is not understood"))
            }
            StatusCode::NOT_FOUND => Err(missing()),
            status => Err(unanswered(&format!("it answers with status {status}"))),
        }
    }
}

fn bad(why: &str) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, why)
}

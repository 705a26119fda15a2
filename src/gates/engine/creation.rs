//! Requests that follow from each other: containers that are created, renamed and started; commands in containers.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::StatusCode;
use opsctl_probe::health::line;
use opsctl_reader::shell::glob;
use serde_json::{Value, json};

use super::calls::Call;
use super::container::{self, Container, replaced};
use super::equal::{Replaced, endpoint, is_endpoint};
use super::judge::{Engine, OWN, STDIN, rights};
use super::memory::{Created, Endpoints};
use super::words::{Words, is_off, texts};
use crate::gates::approved::States;
use crate::gates::containers::commands::Command;
use crate::gates::containers::mounts::{Mount, words_on_host};
use crate::gates::containers::reach::Reach;
use crate::gates::proxy::request::{Asked, Pass, Refusal, Rewrite};
use crate::gates::proxy::target::Target;
use crate::gates::remote::input::{LOCALE, Stdin, changes_locale, command};

/// Why a command gets no terminal with input.
const TYPED: &str =
    "what is typed in a terminal cannot be judged, and programs run commands of it; leave out `-i` or `-t`";

/// Why an empty list is not accepted as the program of a container.
const TWO_READINGS: &str = "Docker reads an empty `Entrypoint` as no program, and Podman as that of the image; leave it out, or state the program";

/// An ID, for the description of a container that does not exist yet.
const NO_ID: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The name of a container that has none yet.
const UNNAMED: &str = "new-container-without-name";

/// The repository of an image: its name without a tag, a digest and what clients may leave out.
fn repository(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    let name = name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')).map_or(name, |(name, _)| name);
    let name =
        ["docker.io/", "localhost/"].into_iter().find_map(|own| name.strip_prefix(own)).unwrap_or(name);
    name.strip_prefix("library/").unwrap_or(name)
}

/// The ID of an image.
fn id(value: &Value) -> Option<&str> {
    value.as_str().map(|id| id.trim_start_matches("sha256:"))
}

/// What a body states of the command, with the keys of Docker.
fn of_docker(call: &Call<'_>, body: &Value) -> Value {
    if call.program == "docker" {
        return body.clone();
    }
    let at = |key: &str| body.get(key).unwrap_or(&Value::Null);
    let env = at("env").as_object().map(|_| texts(at("env")));
    json!({ "Cmd": at("command"), "Entrypoint": at("entrypoint"), "Env": env, "User": at("user"), "WorkingDir": at("work_dir") })
}

/// Adds what the image runs to the words of a new container, as an engine does: its program, unless the request states one, and its
/// arguments if the request states neither. The program of an image that only starts its arguments is left out.
fn with_image(words: &mut Words, image: &Value, form: &Value, starters: &[String]) -> Result<(), Refusal> {
    let of = |key: &str| image.pointer(key).filter(|words| words.is_array()).map(texts).unwrap_or_default();
    let (program, is_stated) = (of("/Config/Entrypoint"), !words.entrypoint.is_empty());
    if form.get("Entrypoint").is_some_and(Value::is_array) && !is_stated && !program.is_empty() {
        return Err(Refusal::forbidden(TWO_READINGS));
    }
    if is_stated {
        return Ok(());
    }
    if words.rest.is_empty() {
        words.entrypoint = program;
        words.rest = of("/Config/Cmd");
        return Ok(());
    }
    let mut own = program.into_iter().peekable();
    while own.next_if(|word| starters.iter().any(|starter| glob(starter, word))).is_some() {
        while own.next_if(|word| word.starts_with('-')).is_some() {}
    }
    words.entrypoint = own.collect();
    Ok(())
}

/// The ID in the answer to a request that creates something.
fn created_id(body: &Bytes) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    Some(answer.get("Id")?.as_str()?.to_owned())
}

impl Engine {
    /// A container is created: what it may do on the host is that of the one it replaces, or nothing.
    pub(super) async fn create(
        &self,
        target: &Target,
        call: &Call<'_>,
        mut words: Words,
        body: &Value,
    ) -> Result<Pass, Refusal> {
        let name = target.query.iter().find(|(key, _)| key == "name").map(|(_, name)| name.as_str());
        let name = name.or_else(|| body.get("name")?.as_str()).filter(|name| !name.is_empty());
        let name = name.map(|name| name.trim_start_matches('/'));
        let replaces = name.and_then(replaced);
        let last = replaces.map(|(_, last)| last).or(name);
        let labels = body.get("Labels").or_else(|| body.get("labels"));
        let inventory = self.inventory().await?;
        let word = container::word(NO_ID, last.unwrap_or(UNNAMED), labels, (&inventory, self.host()));
        let (word, is_listed) =
            word.ok_or_else(|| Refusal::forbidden("the name of the container is not valid"))?;
        let old = self.before(call, last).await?;
        let mut old = old.filter(|old| replaces.is_none_or(|(id, _)| old.id.starts_with(id)));
        if let Some((own, old)) = self.own().await?.zip(old.as_mut()) {
            self.resolve(&mut old.json).await.ok();
            if own.has(&old.json) {
                return Err(Refusal::forbidden(OWN));
            }
        }
        // Labels of the new one do not change whose container it is.
        let own = old.as_ref().filter(|old| old.is_listed).map(|old| old.word.clone());
        let (word, is_listed) = own.map_or((word, is_listed), |word| (word, true));
        let image = self.image(call, &words).await?;
        let form = of_docker(call, body);
        let pair = old.as_ref().zip(image.as_ref());
        let pair = pair.map(|(old, image)| (old, Replaced { old: &old.json, image, body: &form }));
        let is_same = pair.is_some_and(|(old, own)| self.is_same(call, old, own));
        let keys = self.table.bodies.get("create");
        // The rights are those of what runs there now, and not of another command. Another version of its image is a redeployment
        // of a service.
        let keeps = |old: &Container, new: Replaced<'_>| {
            let name = |image: Option<&str>| repository(image.unwrap_or_default()).to_owned();
            let (own, last) = (name(words.image.as_deref()), name(old.at("/Config/Image").as_str()));
            let is_version =
                id(old.at("/Image")) == new.image.get("Id").and_then(id) || own == last && own != "sha256";
            old.runs(&form) && (is_same || is_listed && is_version && new.has_command())
        };
        let had = pair.filter(|(old, new)| keeps(old, *new)).zip(keys);
        let had = had.map(|((old, _), keys)| old.host(keys)).unwrap_or_default();
        if let Some((option, value)) = words.host.iter().find(|own| !had.contains(own)) {
            return Err(rights(option, value));
        }
        if is_listed && !is_same {
            self.are_free(call, old.as_ref(), &words.volumes).await?;
        }
        if !is_listed && !is_same {
            let image = image.ok_or_else(|| {
                let name = words.image.as_deref().unwrap_or_default();
                Refusal::new(StatusCode::NOT_FOUND, format!("No such image: {name}"))
            })?;
            with_image(&mut words, &image, &form, &self.table.starters)?;
        }
        let reads_stdin = !is_same && words.options.iter().any(|option| option == "-i");
        let has_terminal = ["Tty", "terminal"].iter().any(|key| body.get(key) == Some(&Value::Bool(true)));
        let mut text = stated(call.program, &word, is_listed, is_same, &words);
        if reads_stdin {
            self.ignores_input(call.uid, &text).await?;
            text.push_str(STDIN);
        }
        let (_, mut pass) = self.admitted(call.uid, &text).await?;
        let created = Created {
            name: replaces.filter(|_| is_same || is_listed).map(|(_, last)| last.to_owned()),
            may_start: !is_listed && !is_same,
            may_attach: !(is_same || reads_stdin && has_terminal),
            may_be: match old {
                Some(old) if is_same => Endpoints::Of(Arc::new(old.json)),
                _ if is_listed => Endpoints::Any,
                _ => Endpoints::None,
            },
        };
        let memory = Arc::clone(&self.memory);
        let rewrite: Rewrite = Box::new(move |_, body| {
            if let Some(id) = created_id(&body) {
                memory.created.put(id, created);
            }
            Ok(body)
        });
        pass.rewrite = Some(rewrite);
        Ok(pass)
    }

    /// The container of a name: the one that exists, otherwise the one that was removed lately.
    async fn before(&self, call: &Call<'_>, name: Option<&str>) -> Result<Option<Container>, Refusal> {
        let Some(name) = name else { return Ok(None) };
        let existing = self.inspected(call, name).await?.filter(|found| found.name == name);
        Ok(existing.or_else(|| self.memory.removed.get(name)))
    }

    /// What the engine states of the image of a new container; `None`: it has none of this name.
    async fn image(&self, call: &Call<'_>, words: &Words) -> Result<Option<Value>, Refusal> {
        let Some(image) = words.image.as_deref() else { return Ok(None) };
        let path: Vec<&str> = ["images"].into_iter().chain(image.split('/')).chain(["json"]).collect();
        self.state(call, &path).await
    }

    /// Whether a container is of the image of an existing one, and equal to it in all that matters.
    fn is_same(&self, call: &Call<'_>, old: &Container, replaced: Replaced<'_>) -> bool {
        let of_image = replaced.image.get("Id").and_then(id);
        let keys = self.table.bodies.get("create");
        // The interface of podman has bodies of another form.
        call.program == "docker"
            && of_image.is_some()
            && of_image == id(old.at("/Image"))
            && keys.is_some_and(|keys| replaced.is_equal(keys, &self.table.equal))
    }

    /// Refuses volumes of other containers, and those that are a folder of the host, unless the container that is replaced has them.
    async fn are_free(
        &self,
        call: &Call<'_>,
        old: Option<&Container>,
        volumes: &[String],
    ) -> Result<(), Refusal> {
        for volume in volumes {
            let mounts = old.and_then(|old| old.at("/Mounts").as_array());
            let is_it = |mount: &Value| mount.get("Name").and_then(Value::as_str) == Some(volume.as_str());
            if mounts.is_some_and(|mounts| mounts.iter().any(is_it)) {
                continue;
            }
            // One that no container has may be a folder of the host.
            if self.volume(volume).await?.is_some_and(|volume| !volume.is_apart()) {
                return Err(rights("--volume", volume));
            }
            let filters = json!({ "volume": [volume] }).to_string();
            let query = vec![("all".to_owned(), "true".to_owned()), ("filters".to_owned(), filters)];
            let found = self.stated(call, &["containers", "json"], query).await?;
            if found.is_none_or(|found| found.as_array().is_none_or(|found| !found.is_empty())) {
                return Err(rights("--volume", volume));
            }
        }
        Ok(())
    }

    /// A container gets names and addresses in a network: those that it has as a part of a recreation. Another one that
    /// hosts.yaml does not list is judged as if it were created there, because its own name is one in the network, too.
    pub(super) fn connected(
        &self,
        call: &Call<'_>,
        container: &Container,
        network: &str,
        body: &Value,
        words: &mut Words,
    ) -> Option<String> {
        let stated = body.get("EndpointConfig").unwrap_or(&Value::Null);
        let is_known = match self.memory.created.get(&container.id).map(|created| created.may_be) {
            Some(Endpoints::Any) => true,
            Some(Endpoints::Of(old)) => {
                endpoint(&old, network).is_some() && is_endpoint(&old, network, stated)
            }
            Some(Endpoints::None) | None => false,
        };
        if is_known {
            words.options.clear();
        }
        if is_known || container.is_listed {
            return None;
        }
        let image = container.at("/Config/Image").as_str().unwrap_or_default();
        let mut all = [call.program, "received", "create"].map(str::to_owned).to_vec();
        all.append(&mut words.options);
        all.extend(["--network", network, "--name", &container.word, image].map(str::to_owned));
        Some(line(&all))
    }

    /// A container is started. What was judged with its creation, or with the stop before, is not judged again.
    pub(super) async fn start(&self, uid: u32, container: &Container, text: &str) -> Result<Pass, Refusal> {
        let created = self.memory.created.get(&container.id);
        if let Some(created) = created.filter(|created| created.may_start && !container.is_listed) {
            self.memory.created.put(container.id.clone(), Created { may_start: false, ..created });
            return Ok(Pass::default());
        }
        if self.memory.stopped.take(&format!("{uid} {}", container.word)).is_some() {
            return Ok(Pass::default());
        }
        Ok(self.admitted(uid, text).await?.1)
    }

    /// Refuses a container that is to replace another one, and does not have its name yet: it would run beside that one, on the same
    /// volumes. Its service is that of the other one, so what is done with it would count for what goes on running.
    pub(super) async fn has_its_place(&self, call: &Call<'_>, container: &Container) -> Result<(), Refusal> {
        let Some((_, last)) = replaced(&container.name) else { return Ok(()) };
        let is_new = self.memory.created.get(&container.id).is_some_and(|created| created.name.is_some());
        let is_other = |other: &Container| other.name == last && other.id != container.id;
        if !is_new && !self.inspected(call, last).await?.is_some_and(|other| is_other(&other)) {
            return Ok(());
        }
        Err(Refusal::forbidden(format!(
            "`{}` is to replace `{last}`, and would run beside it; remove `{last}` and rename this one to it first, as `docker compose up` does",
            container.name
        )))
    }

    /// A container gets another name: only one that replaces another one does, because budgets follow from names.
    pub(super) fn rename(&self, container: &Container, words: &Words) -> Result<Pass, Refusal> {
        let created = self.memory.created.get(&container.id);
        let last = created.and_then(|created| created.name);
        if last.is_some() && last.as_ref() == words.rest.first() {
            return Ok(Pass::default());
        }
        Err(Refusal::forbidden(format!(
            "`{}` cannot be renamed: budgets belong to the names of containers; ask an operator",
            container.name
        )))
    }

    /// A command is to be run in a container. Files that it names are judged by their paths on the host, too.
    pub(super) async fn exec(
        &self,
        call: &Call<'_>,
        (container, reach): (&Container, Reach),
        words: Words,
        body: &Value,
    ) -> Result<Pass, Refusal> {
        let reads_stdin = words.options.iter().any(|option| option == "-i");
        if reads_stdin && body.get("Tty") == Some(&Value::Bool(true)) {
            return Err(Refusal::forbidden(TYPED));
        }
        let stated = |option: &str| {
            let pairs = words.options.iter().zip(words.options.iter().skip(1));
            pairs.filter(|(own, _)| *own == option).map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        let own = container.at("/Config/WorkingDir").as_str().unwrap_or_default();
        let (folders, variables) = (stated("--workdir"), stated("-e"));
        let folder = folders.last().map_or(own, String::as_str);
        let limited = Command { words: &words.rest, folder, variables: &variables };
        let changes_locale = || changes_locale(&[words.options.join(" "), words.rest.join(" ")].join(" "));
        if let Some(why) = limited.refusal(reach).or_else(|| changes_locale().then_some(LOCALE)) {
            return Err(Refusal::forbidden(why));
        }
        let mut all = vec![call.program.to_owned(), "exec".to_owned()];
        let place = container.at("/Config/WorkingDir").as_str().filter(|place| !place.is_empty());
        let has_place = words.options.iter().any(|option| option == "--workdir");
        let place = place.filter(|_| !has_place).into_iter().flat_map(|place| ["--workdir", place]);
        let mut there = [all.clone(), words.options.clone(), place.map(str::to_owned).collect()].concat();
        all.extend(words.options);
        for named in [&mut all, &mut there] {
            named.push(container.word.clone());
            named.extend(words.rest.iter().cloned());
        }
        let mut places = words_on_host(&Mount::of(&container.json), &there);
        if places.is_empty() {
            places.push(there);
        }
        for there in places.iter().filter(|there| **there != all) {
            let text = command(self.host(), &line(there), Stdin::Plain);
            self.passes(call.uid, "secret", text).await?;
        }
        let mut text = line(&all);
        if reads_stdin {
            self.ignores_input(call.uid, &text).await?;
            text.push_str(STDIN);
        }
        let is_whole = !words.lacks && !reads_stdin;
        let (_, mut pass) = self.admitted_as(call.uid, &text, States::of(is_whole)).await?;
        let memory = Arc::clone(&self.memory);
        let rewrite: Rewrite = Box::new(move |_, body| {
            if let Some(id) = created_id(&body) {
                memory.execs.put(id, reads_stdin);
            }
            Ok(body)
        });
        pass.rewrite = Some(rewrite);
        Ok(pass)
    }

    /// A command that was judged runs, once.
    pub(super) fn begin(&self, asked: &Asked, call: &Call<'_>) -> Result<Pass, Refusal> {
        let id = call.place("name").and_then(|at| asked.target.segments.get(at));
        match id.and_then(|id| self.memory.execs.take(id)) {
            Some(true) if asked.upgrade.is_none() => Err(Refusal::forbidden(
                "a command that reads its standard input needs a connection that changes its protocol (`Upgrade: tcp`); use the docker client",
            )),
            Some(_) => Ok(Pass::default()),
            None => Err(Refusal::forbidden(
                "this command was not created through the gate, or has been started; create it again",
            )),
        }
    }

    /// A client connects to the streams of a container. Its standard input is that of a command: it has been judged if the
    /// container was created through this gate. What is connected is stated in full: engines have different defaults.
    pub(super) fn attach(
        &self,
        asked: &mut Asked,
        call: &Call<'_>,
        (container, reach): (&Container, Reach),
    ) -> Result<Pass, Refusal> {
        // Podman connects each stream that a request of its own interface does not exclude.
        let of_podman = call.prefix.iter().any(|part| part == "libpod");
        let is_on = |name: &str| {
            let stated =
                asked.target.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
            stated.map_or(of_podman, |value| !is_off(value) || of_podman && value.is_empty())
        };
        let streams = ["stdin", "stdout", "stderr"].map(|name| (name, is_on(name)));
        let [(_, writes), (_, out), (_, errors)] = streams;
        let only_reads = !writes && (out || errors);
        let may = || self.memory.created.get(&container.id).is_some_and(|created| created.may_attach);
        if only_reads || reach == Reach::Itself && may() {
            asked.target.query.retain(|(name, _)| streams.iter().all(|(own, _)| own != name));
            let stated = streams.map(|(name, is_on)| (name.to_owned(), is_on.to_string()));
            asked.target.query.extend(stated);
            return Ok(Pass { is_closed: !writes, ..Pass::default() });
        }
        Err(Refusal::new(
            StatusCode::FORBIDDEN,
            format!(
                "the input of `{}` cannot be written: what runs there is not known; use `exec` with a command",
                container.name
            ),
        ))
    }
}

/// The command that creates a container. One that replaces an equal one is created only; another one in place of a listed one
/// is a redeployment.
fn stated(program: &str, word: &str, is_listed: bool, is_same: bool, words: &Words) -> String {
    let mut all = vec![program.to_owned()];
    let image = words.image.clone().unwrap_or_default();
    if is_same {
        all.extend(["received".to_owned(), "create".to_owned(), image]);
        return line(&all);
    }
    if is_listed {
        all.extend(["run", "-d", "--name", word].map(str::to_owned));
    } else {
        all.extend(["received", "create"].map(str::to_owned));
    }
    // Its name is that by which hosts.yaml knows it. The variables and labels of a service are not recorded.
    let mut options = words.options.iter();
    while let Some(option) = options.next() {
        if option == "--name" || (is_listed && matches!(option.as_str(), "--env" | "--label")) {
            options.next();
        } else {
            all.push(option.clone());
        }
    }
    if !is_listed && word != UNNAMED {
        all.extend(["--name", word].map(str::to_owned));
    }
    let mut entrypoint = words.entrypoint.iter().cloned();
    if is_listed {
        all.extend(entrypoint.next().into_iter().flat_map(|program| ["--entrypoint".to_owned(), program]));
    }
    // What runs in another container is its program, with the arguments. An empty one is none.
    all.push(image);
    all.extend(entrypoint.filter(|program| is_listed || !program.is_empty()));
    all.extend(words.rest.iter().cloned());
    line(&all)
}

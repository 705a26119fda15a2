//! How a command refers to its target, beyond the target's name.

/// How a command refers to its target.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Reference {
    /// What the name is.
    pub form: Form,
    /// The container engine that acts; `None` if it cannot be asked: another one, one inside a container, or no engine.
    pub engine: Option<EngineCall>,
    /// The context of the engine that the command chooses: `docker --context NAME`.
    pub context: Option<String>,
    /// The compose project of a compose service, if it is known.
    pub project: Option<String>,
    /// What the files of a compose project state as its target: of the project all services, of a service its own one,
    /// each under all of its names.
    pub below: Vec<Vec<String>>,
}

/// What the name of a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// The name of the target itself. That of a container may also be an ID, or the beginning of one.
    #[default]
    Name,
    /// The name of a pod, which contains that of its workload.
    Pod,
    /// The name of a swarm service, which begins with that of its stack.
    SwarmService,
    /// A part of the names of the targets, as in `docker ps --filter name=PART`.
    PartOfNames,
    /// The value of a label, as in `kubectl delete pods -l app=NAME`: also other targets may have it.
    Label,
    /// No name: all targets of this kind, as in `docker restart $(docker ps -q)`.
    Everything,
}

/// How a command starts its container engine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EngineCall {
    /// The program: `docker`, `podman` or `nerdctl`.
    pub program: &'static str,
    /// Whether it runs with `sudo`.
    pub sudo: bool,
}

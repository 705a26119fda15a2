//! A container as its engine describes it.

use opsctl_reader::terms::action::Target;
use opsctl_reader::terms::reference::Form;
use opsctl_reader::terms::workload::Workload;

/// A container: its ID, and the names that its engine knows for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The full ID.
    pub id: String,
    /// The name.
    pub name: String,
    /// The names in its labels, by kind: compose service, swarm service, unit, pod.
    labels: [String; 4],
}

/// The labels that name what a container belongs to, in the order of [`Container::labels`].
const LABELS: [&str; 4] = [
    "com.docker.compose.service",
    "com.docker.swarm.service.name",
    "PODMAN_SYSTEMD_UNIT",
    "io.kubernetes.pod.name",
];

/// The longest name that is believed, in characters.
const LONGEST: usize = 255;

impl Container {
    /// The template with which `inspect --format` prints what [`Self::read`] reads. It contains no single quote.
    pub fn template() -> String {
        let labels = LABELS.map(|label| format!("|{{{{index .Config.Labels \"{label}\"}}}}"));
        format!("{{{{.ID}}}}|{{{{.Name}}}}{}", labels.concat())
    }

    /// Reads a line that an engine prints for the template, or that [`Self::line`] returns; `None` for any other text.
    pub fn read(line: &str) -> Option<Self> {
        let mut fields = line.trim().split('|').map(|field| match field {
            // Go's templates print this for a label that does not exist.
            "<no value>" | "<nil>" => "",
            field => field,
        });
        let (id, name) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        let is_name = |name: &str| {
            name.len() <= LONGEST && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-@:/".contains(c))
        };
        let mut labels = LABELS.map(|_| String::new());
        for label in &mut labels {
            // Another program may have written anything into a label.
            let value = fields.next()?;
            value.clone_into(label);
            if !is_name(value) {
                label.clear();
            }
        }
        let is_id =
            id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
        let is_valid = is_id && !name.is_empty() && is_name(name);
        (is_valid && fields.next().is_none()).then(|| Self {
            id: id.to_owned(),
            name: name.to_owned(),
            labels,
        })
    }

    /// The container as one line, which [`Self::read`] reads.
    pub fn line(&self) -> String {
        format!("{}|{}|{}", self.id, self.name, self.labels.join("|"))
    }

    /// What the container may be listed as, most specific first.
    pub fn targets(&self) -> Vec<(Target, Form)> {
        let [service, swarm_service, unit, pod] = self.labels.clone();
        let unit = unit.strip_suffix(".service").map(str::to_owned).unwrap_or(unit);
        let targets = [
            (Target::Container(self.name.clone()), Form::Name, &self.name),
            (Target::ComposeService(service.clone()), Form::Name, &service),
            (Target::Container(swarm_service.clone()), Form::SwarmService, &swarm_service),
            (Target::Unit(unit.clone()), Form::Name, &unit),
            (Target::Workload(Workload::named(pod.clone())), Form::Pod, &pod),
        ];
        let named = targets.into_iter().filter(|(_, _, name)| !name.is_empty());
        named.map(|(target, form, _)| (target, form)).collect()
    }
}

//! Kubernetes workloads, as `hosts.yaml` lists them and commands name them.

use std::fmt;

use crate::text_form;

crate::words! {
    /// The kind of a workload.
    #[derive(Hash)]
    pub enum WorkloadKind {
        /// A deployment.
        Deployment = "deployment",
        /// A stateful set.
        StatefulSet = "statefulset",
        /// A daemon set.
        DaemonSet = "daemonset",
        /// A job.
        Job = "job",
        /// A cron job.
        CronJob = "cronjob",
    }
}

impl WorkloadKind {
    /// The short form that kubectl accepts; for a job the singular.
    const fn short(self) -> &'static str {
        match self {
            Self::Deployment => "deploy",
            Self::StatefulSet => "sts",
            Self::DaemonSet => "ds",
            Self::Job => "job",
            Self::CronJob => "cj",
        }
    }

    /// The kind that kubectl reads in a word: `deploy`, `deployments`, `Deployment.apps`; `None` for any other kind.
    pub fn find(word: &str) -> Option<Self> {
        let word = word.split('.').next().unwrap_or_default().to_ascii_lowercase();
        Self::ALL.into_iter().find(|kind| {
            word == kind.short() || word == kind.as_str() || word.strip_suffix('s') == Some(kind.as_str())
        })
    }
}

/// A workload. A namespace or kind that is not stated may be any.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Workload {
    /// The namespace.
    pub namespace: Option<String>,
    /// The kind.
    pub kind: Option<WorkloadKind>,
    /// The name.
    pub name: String,
}

impl Workload {
    /// A workload of any kind in any namespace.
    pub fn named(name: impl Into<String>) -> Self {
        Self { namespace: None, kind: None, name: name.into() }
    }

    /// Whether neither its namespace nor its kind is stated.
    pub const fn is_bare(&self) -> bool {
        self.namespace.is_none() && self.kind.is_none()
    }

    /// Reads `[NAMESPACE/][KIND/]NAME`; `None` if the text has another form.
    ///
    /// In `A/B`, A is a kind if it is the name of one, otherwise a namespace.
    pub fn read(written: &str) -> Option<Self> {
        let words: Vec<&str> = written.split('/').collect();
        let (namespace, kind, name) = match words.as_slice() {
            [name] => (None, None, name),
            ["pod" | "pods" | "po", _] => return None,
            [first, name] => match WorkloadKind::find(first) {
                Some(kind) => (None, Some(kind), name),
                None => (Some((*first).to_owned()), None, name),
            },
            [namespace, kind, name] => (Some((*namespace).to_owned()), Some(WorkloadKind::find(kind)?), name),
            _ => return None,
        };
        Some(Self { namespace, kind, name: (*name).to_owned() })
    }

    /// Whether both may be the same workload: nothing that both state differs.
    pub fn may_be(&self, other: &Self) -> bool {
        fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
            one.is_none() || other.is_none() || one == other
        }
        self.name == other.name
            && agree(self.kind.as_ref(), other.kind.as_ref())
            && agree(self.namespace.as_ref(), other.namespace.as_ref())
    }
}

text_form!(Workload, Workload::read, "is not a workload; write `NAME`, `KIND/NAME` or `NAMESPACE/KIND/NAME`");

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        if let Some(kind) = self.kind {
            write!(f, "{}/", kind.as_str())?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Workload;
    use crate::languages::cases::check_rows;

    #[test]
    fn reads_namespace_kind_and_name() {
        check_rows("terms", "workloads", |written| {
            Workload::read(written).map(|workload| workload.to_string()).unwrap_or_default()
        });
    }

    #[test]
    fn what_is_not_stated_may_be_any() {
        check_rows("terms", "same_workloads", |both| {
            let (one, other) = both.split_once(' ').unwrap();
            let (one, other) = (Workload::read(one).unwrap(), Workload::read(other).unwrap());
            assert_eq!(one.may_be(&other), other.may_be(&one), "{both}");
            one.may_be(&other).to_string()
        });
    }
}

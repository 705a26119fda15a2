//! The class of a change: what kind of consequence it has.

use serde::{Deserialize, Serialize};

crate::words! {
    /// What kind of consequence a change has. All but `plain` and `work` are always denied, unless `policy.never` states
    /// otherwise; `work` is, on other machines and in containers.
    #[derive(PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Class {
        /// A repair does it: it can be undone, or concerns only what is not needed.
        Plain = "plain",
        /// It builds or edits what a project contains. On other machines, it is as `other`.
        Work = "work",
        /// It stops or suspends a machine.
        Power = "power",
        /// It changes or destroys the layout of disks, pools and volumes.
        Storage = "storage",
        /// It removes a snapshot, or returns to one.
        Snapshot = "snapshot",
        /// It removes or rewrites backups, or restores one over live data.
        Backup = "backup",
        /// It removes the data of a service.
        Data = "data",
        /// It removes data of a database, or changes its schema, roles or accounts.
        Database = "database",
        /// It destroys or overwrites a virtual machine or a system container.
        Guest = "guest",
        /// It removes workloads or members of a cluster, or infrastructure.
        Cluster = "cluster",
        /// It can cut a host off: interfaces, routes, name resolution.
        Network = "network",
        /// It opens or closes a packet filter.
        Firewall = "firewall",
        /// It changes users, groups, passwords or tokens.
        Accounts = "accounts",
        /// It changes who may enter, or how a machine starts: keys, certificates, mandatory access control, stores of
        /// secrets.
        Access = "access",
        /// It removes or disables scheduled jobs.
        Schedule = "schedule",
        /// It changes a container engine, or gives a container the rights of the host.
        Engine = "engine",
        /// It removes, stops or opens resources of a cloud.
        Cloud = "cloud",
        /// It merges, publishes or removes what is stored in a forge or a registry.
        Forge = "forge",
        /// It runs code that it fetches, or that the session may have made.
        Unread = "unread",
        /// It empties or removes queues and topics.
        Queue = "queue",
        /// It moves locks, alarms, doors and heaters of a home.
        Home = "home",
        /// No repair does it.
        Other = "other",
    }
}

impl Class {
    /// Whether changes of this class are always denied, by default: on the machine of the session, or on others.
    pub fn is_denied(self, elsewhere: bool) -> bool {
        match self {
            Self::Plain => false,
            Self::Work => elsewhere,
            _ => true,
        }
    }

    /// The class whose rule denies changes of this class.
    #[must_use]
    pub const fn denied_as(self) -> Self {
        match self {
            Self::Work => Self::Other,
            class => class,
        }
    }
}

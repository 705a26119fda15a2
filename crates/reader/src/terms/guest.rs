//! Virtual machines and system containers, as `hosts.yaml` lists them and commands name them.

use std::fmt;

use crate::text_form;

crate::words! {
    /// The program that manages a guest.
    #[derive(Hash)]
    pub enum GuestProgram {
        /// `qm`: virtual machines of Proxmox.
        Qm = "qm",
        /// `pct`: containers of Proxmox.
        Pct = "pct",
        /// `virsh`: libvirt.
        Virsh = "virsh",
        /// `incus`.
        Incus = "incus",
        /// `lxc`: LXD.
        Lxc = "lxc",
    }
}

/// A guest. A program that is not stated may be any.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Guest {
    /// The program that manages it.
    pub program: Option<GuestProgram>,
    /// Its number in Proxmox, otherwise its name.
    pub name: String,
}

impl Guest {
    /// Reads `PROGRAM/NAME` or `NAME`; `None` if the text has another form.
    pub fn read(written: &str) -> Option<Self> {
        let (program, name) = match written.split_once('/') {
            Some((program, name)) => (Some(GuestProgram::named(program)?), name),
            None => (None, written),
        };
        Some(Self { program, name: name.to_owned() })
    }

    /// Whether both may be the same guest: the names are equal, and the programs that both state.
    pub fn may_be(&self, other: &Self) -> bool {
        let same_program = self.program.is_none() || other.program.is_none() || self.program == other.program;
        self.name == other.name && same_program
    }
}

text_form!(Guest, Guest::read, "is not a guest; write `PROGRAM/NAME`, such as `qm/101`");

impl fmt::Display for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(program) = self.program {
            write!(f, "{}/", program.as_str())?;
        }
        f.write_str(&self.name)
    }
}

//! Virtual machines and system containers, as `hosts.yaml` lists them and commands name them.

use std::fmt;

use crate::text_form;

/// The program that manages a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GuestProgram {
    /// `qm`: virtual machines of Proxmox.
    Qm,
    /// `pct`: containers of Proxmox.
    Pct,
    /// `virsh`: libvirt.
    Virsh,
    /// `incus`.
    Incus,
    /// `lxc`: LXD.
    Lxc,
}

impl GuestProgram {
    /// Every program.
    pub const ALL: [Self; 5] = [Self::Qm, Self::Pct, Self::Virsh, Self::Incus, Self::Lxc];

    /// Its name in `hosts.yaml`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Qm => "qm",
            Self::Pct => "pct",
            Self::Virsh => "virsh",
            Self::Incus => "incus",
            Self::Lxc => "lxc",
        }
    }

    /// The program with this name; `None` for any other name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.as_str() == name)
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
            Some((program, name)) => (Some(GuestProgram::find(program)?), name),
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

//! The rules about always-denied commands that come with opsctl, by class, in `never/`.

use super::program::Texts;
use super::program::keys::keys;

keys! {
    /// A rule that denies commands at every tier, unless `hosts.yaml` allows it or its class. The rule with the name of a class denies all changes of this class; the descriptions of programs state which commands.
    pub struct DefaultRule {
        /// Why the command is denied, and what to do instead. The agent reads it.
        pub reason: &'static str,
        /// Whether it only applies to commands on the agent's own machine. Default: `false`.
        pub local: bool,
        /// Whether it only applies to commands on other machines. Default: `false`.
        pub remote: bool,
        /// Whether it only applies to a text that may change something. Default: `false`.
        pub changes: bool,
        /// Commands that it denies.
        pub matches: Texts,
        /// Similar commands that it does not deny.
        pub differs: Texts,
    }
    beside {
        /// Its name, in denials and in `hosts.yaml`.
        pub name: &'static str,
        /// The class, or the group of rules without one.
        pub class: &'static str,
    }
}

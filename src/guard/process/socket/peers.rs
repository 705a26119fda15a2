//! Who may connect: root, the guard's own user, and the users that `CLAUDEOPS_GUARD_UIDS` lists.

use rustix::process::geteuid;

/// The variable that lists further user ids, separated by commas.
const VARIABLE: &str = "CLAUDEOPS_GUARD_UIDS";

/// The users that may connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peers {
    own: u32,
    listed: Vec<u32>,
}

impl Peers {
    /// The users that the environment of this process allows.
    pub fn of_process() -> Self {
        let list = std::env::var(VARIABLE).unwrap_or_default();
        Self::new(geteuid().as_raw(), &list)
    }

    fn new(own: u32, list: &str) -> Self {
        // An entry that is not a number allows no user.
        Self { own, listed: list.split(',').filter_map(|uid| uid.trim().parse().ok()).collect() }
    }

    /// Why a user may not connect; `None` if it may.
    pub fn refusal(&self, uid: u32) -> Option<String> {
        let allowed = uid == 0 || uid == self.own || self.listed.contains(&uid);
        (!allowed).then(|| format!("user {uid} is not allowed; add it to {VARIABLE} of `opsctl serve`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_the_guard_and_listed_users_may_connect() {
        let peers = Peers::new(2000, "1000, 1001,x,-1,");
        for (uid, allowed) in
            [(0, true), (2000, true), (1000, true), (1001, true), (1002, false), (u32::MAX, false)]
        {
            assert_eq!(peers.refusal(uid).is_none(), allowed, "{uid}");
        }
        assert!(Peers::new(2000, "").refusal(1000).is_some());
    }
}

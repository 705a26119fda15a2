//! Branches and pull requests.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[
    DefaultRule {
        name: "merge",
        reason: "Only an operator merges changes. Leave the pull request open and report that it needs a review.",
        matches: &["gh pr merge 12 --squash", "gh api -X PUT repos/o/r/pulls/12/merge"],
        differs: &["gh pr create --title x --body y", "gh pr view 12", "gh api repos/o/r/pulls/12/merge"],
        ..RULE
    },
    DefaultRule {
        name: "push-to-main",
        reason: "The main branch is only changed by pull requests. Push another branch and open a pull request.",
        matches: &[
            "git push origin main",
            "git -C /repos/homelab push -u origin HEAD:main",
            "git push origin --delete master",
        ],
        differs: &[
            "git push origin fix/dns",
            "git push origin main:fix/dns",
            "git push --dry-run origin main",
            "git pull origin main",
        ],
        ..RULE
    },
    DefaultRule {
        name: "push-without-branch",
        reason: "It does not name the branch to push, which may be the main one. Name it: `git push origin BRANCH`.",
        matches: &["git push", "git push -u origin HEAD", "git push origin \"$(git branch --show-current)\""],
        differs: &[
            "git push origin fix/dns",
            "git push --tags",
            "git push origin HEAD:fix/dns",
            "b=fix/dns; git push origin $b",
        ],
        ..RULE
    },
    DefaultRule {
        name: "force-push",
        reason: "It overwrites commits of others. Push a new commit or a new branch instead.",
        matches: &[
            "git push --force origin fix/dns",
            "git push origin +fix/dns",
            "git push -uf origin fix/dns",
        ],
        differs: &["git push origin fix/dns", "git fetch --force"],
        ..RULE
    },
    DefaultRule {
        name: "delete-in-forge",
        reason: "Only an operator deletes what is stored in a forge. Leave it in place and report the problem.",
        matches: &[
            "gh repo delete stump/homelab --yes",
            "gh release delete v1.2.3",
            "gh api -X DELETE repos/o/r/git/refs/heads/x",
            "git push origin --delete fix/dns",
            "git push origin :fix/dns",
        ],
        differs: &[
            "gh release view v1.2.3",
            "gh api repos/o/r",
            "git push origin fix/dns",
            "git branch -d fix/dns",
        ],
        ..RULE
    },
];

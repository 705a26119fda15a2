//! Branches and pull requests.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[
    DefaultRule {
        name: "merge",
        reason: "Changes are merged by a person. Leave the pull request open and say that it waits for review.",
        matches: &["gh pr merge 12 --squash", "gh api -X PUT repos/o/r/pulls/12/merge"],
        differs: &["gh pr create --title x --body y", "gh pr view 12", "gh api repos/o/r/pulls/12/merge"],
        ..RULE
    },
    DefaultRule {
        name: "push-to-main",
        reason: "The main branch is changed by pull requests alone. Push a branch of your own and open one.",
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
        reason: "It does not say which branch is pushed, which may be the main one. Name it: `git push origin BRANCH`.",
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
        reason: "It rewrites what others have. Push a new commit or a new branch instead.",
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
        reason: "What a forge holds is removed by a person. Leave it in place and report what is in the way.",
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

//! Clouds.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[DefaultRule {
    name: "delete-in-cloud",
    reason: "A deleted cloud resource is lost, with its data and its address. Leave it to an operator.",
    matches: &[
        "aws ec2 terminate-instances --instance-ids i-0abc",
        "aws --profile prod s3 rb s3://backup --force",
        "gcloud compute instances delete web --quiet",
        "az vm delete -g rg -n web --yes",
        "hcloud server delete web",
        "doctl compute droplet delete 123456 -f",
    ],
    differs: &[
        "aws ec2 describe-instances",
        "aws ec2 terminate-instances --instance-ids i-0abc --dry-run",
        "aws ec2 reboot-instances --instance-ids i-0abc",
        "gcloud compute instances list",
        "hcloud server delete --help",
        "doctl compute droplet get 123456",
    ],
    ..RULE
}];

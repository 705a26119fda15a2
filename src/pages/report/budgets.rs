//! The section with budgets, as bars.

use serde_json::{Value, json};

use super::data::ReportData;
use super::format::{plain, shown};
use crate::guard::budgets::ServiceBudget;

/// The maximum number of services with usage, those behind "more" included; further ones are counted.
const MOST_USED: usize = 40;
/// The maximum number of listed services without usage.
const MOST_IDLE: usize = 150;

/// The data of the section.
pub fn budgets(data: &ReportData<'_>) -> Value {
    let (listed, unlisted): (Vec<&ServiceBudget>, Vec<&ServiceBudget>) =
        data.budgets.iter().partition(|budget| budget.listed);
    let (used, idle): (Vec<&ServiceBudget>, Vec<&ServiceBudget>) =
        listed.into_iter().partition(|budget| budget.in_use());
    let idle_names: Vec<String> = idle.iter().take(MOST_IDLE).map(|budget| plain(&budget.service)).collect();
    json!({
        "leases": shown(data.leases.iter().take(MOST_USED).collect::<Vec<_>>()),
        "used": shown(used.iter().take(MOST_USED).collect::<Vec<_>>()),
        "more_used": used.len().saturating_sub(MOST_USED),
        "unlisted": shown(unlisted.iter().take(MOST_USED).collect::<Vec<_>>()),
        "more_unlisted": unlisted.len().saturating_sub(MOST_USED),
        "idle": idle_names,
        "more_idle": idle.len().saturating_sub(MOST_IDLE),
        "limits": shown(data.budgets.first()),
    })
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use crate::pages::report::templates;

    #[test]
    fn a_bar_has_one_part_per_allowed_action_up_to_a_maximum() {
        let templates = templates(chrono::Utc::now()).unwrap();
        let filled = |used, limit| {
            let text = r#"{% import "parts.html" as parts %}{{ parts.bar(kind) }}"#;
            let bar = templates.render_str(text, context! { kind => context! { used, limit } }).unwrap();
            let number = |name: &str, part: &str| -> f64 {
                part.split_once(&format!("{name}=\"")).unwrap().1.split_once('%').unwrap().0.parse().unwrap()
            };
            let parts: Vec<&str> = bar.split("<rect ").skip(1).collect();
            let ends = parts.iter().map(|part| number(" x", part) + number("width", part));
            assert!((ends.fold(0.0, f64::max) - 100.0).abs() < 1e-6, "{bar}");
            (parts.iter().filter(|part| part.contains("\"filled\"")).count(), parts.len())
        };
        assert_eq!(filled(1, 2), (1, 2));
        assert_eq!(filled(3, 2), (2, 2));
        assert_eq!(filled(0, 0), (1, 1));
        assert_eq!(filled(40, 100), (1, 2));
        assert_eq!(filled(200, 100), (1, 2));
    }
}

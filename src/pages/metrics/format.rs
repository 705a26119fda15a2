//! Metrics as text: the format of `OpenMetrics`, and the older format of Prometheus, which the textfile collector of `node_exporter`
//! reads.

use serde::Deserialize;

/// The format of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `OpenMetrics` 1.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Prometheus,
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It only increases.
    Counter,
    /// It may decrease.
    Gauge,
    /// Counts of durations by upper bound.
    Histogram,
}

/// A metric: how it is named and described, and where its samples come from.
#[derive(Debug, Clone, Deserialize)]
pub struct Metric {
    /// Its name, which ends with the unit; without `_total`.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// A counter of the ledger or a value, by name.
    pub(super) source: String,
    /// The names of its labels.
    #[serde(default)]
    pub labels: Vec<String>,
    /// What it states, in one sentence.
    pub help: String,
}

/// A metric with all of its samples.
#[derive(Debug)]
pub struct Family<'a> {
    /// The metric.
    pub metric: &'a Metric,
    /// The samples.
    pub samples: Vec<Sample>,
}

/// One value of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// `_bucket`, `_sum` or `_count` of a histogram; otherwise empty.
    pub suffix: &'static str,
    /// The labels.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: f64,
}

impl Sample {
    /// A sample without a suffix.
    pub fn new(labels: Vec<(&'static str, String)>, value: f64) -> Self {
        Self { suffix: "", labels, value }
    }
}

/// The text of metrics. Those without samples are left out.
pub fn text(families: &[Family<'_>], format: Format) -> String {
    let mut text = String::new();
    for Family { metric, samples } in families.iter().filter(|family| !family.samples.is_empty()) {
        let Metric { name, kind, help, .. } = metric;
        let unit = ["usd", "seconds"].into_iter().find(|unit| name.ends_with(unit)).unwrap_or_default();
        let total = if *kind == Kind::Counter { "_total" } else { "" };
        // In the older format, the name of a counter ends with `_total` everywhere.
        let declared = match format {
            Format::OpenMetrics => name.clone(),
            Format::Prometheus => format!("{name}{total}"),
        };
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        text += &format!("# TYPE {declared} {kind}\n");
        if format == Format::OpenMetrics && !unit.is_empty() {
            text += &format!("# UNIT {declared} {unit}\n");
        }
        text += &format!("# HELP {declared} {}\n", escaped(help, format == Format::OpenMetrics));
        for Sample { suffix, labels, value } in samples {
            text += &format!("{name}{total}{suffix}{} {value}\n", in_braces(labels));
        }
    }
    if format == Format::OpenMetrics {
        text += "# EOF\n";
    }
    text
}

fn in_braces(labels: &[(&'static str, String)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value, true))).collect();
    format!("{{{}}}", labels.join(","))
}

fn escaped(text: &str, quotes: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if quotes { text.replace('"', "\\\"") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(format: Format) -> String {
        let metrics: Vec<Metric> = serde_saphyr::from_str(
            "- {name: a_cost_usd, kind: counter, source: '', help: 'Says \"x\\y\".'}\n\
             - {name: b, kind: gauge, source: '', help: B.}\n\
             - {name: c, kind: gauge, source: '', help: No samples.}\n\
             - {name: d_seconds, kind: histogram, source: '', help: D.}\n",
        )
        .unwrap();
        let sample = |suffix, labels: &[(&'static str, &str)], value| Sample {
            suffix,
            labels: labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
            value,
        };
        let samples = [
            vec![sample("", &[("model", "a\"b\\c\nd"), ("tier", "1")], 0.5)],
            vec![sample("", &[], 3.0)],
            vec![],
            vec![
                sample("_bucket", &[("le", "0.1")], 1.0),
                sample("_bucket", &[("le", "+Inf")], 2.0),
                sample("_sum", &[], 1.25),
                sample("_count", &[], 2.0),
            ],
        ];
        let family = |(metric, samples)| Family { metric, samples };
        text(&metrics.iter().zip(samples).map(family).collect::<Vec<_>>(), format)
    }

    #[test]
    fn writes_openmetrics() {
        let expected = "# TYPE a_cost_usd counter\n# UNIT a_cost_usd usd\n# HELP a_cost_usd Says \\\"x\\\\y\\\".\n\
             a_cost_usd_total{model=\"a\\\"b\\\\c\\nd\",tier=\"1\"} 0.5\n\
             # TYPE b gauge\n# HELP b B.\nb 3\n\
             # TYPE d_seconds histogram\n# UNIT d_seconds seconds\n# HELP d_seconds D.\n\
             d_seconds_bucket{le=\"0.1\"} 1\nd_seconds_bucket{le=\"+Inf\"} 2\nd_seconds_sum 1.25\nd_seconds_count 2\n# EOF\n";
        assert_eq!(texts(Format::OpenMetrics), expected);
    }

    #[test]
    fn writes_the_older_format() {
        let text = texts(Format::Prometheus);
        assert!(text.contains(
            "# TYPE a_cost_usd_total counter\n# HELP a_cost_usd_total Says \"x\\\\y\".\na_cost_usd_total{"
        ));
        assert!(!text.contains("UNIT") && !text.contains("EOF"), "{text}");
    }
}

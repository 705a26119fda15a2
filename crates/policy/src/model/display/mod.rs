//! Numbers and times as text.

pub mod percentile;
pub mod relative_time;
pub mod thousands;

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use crate::cases::Cases;

    #[test]
    fn numbers_and_times_are_short() {
        let mut cases = Cases::of("display");
        let number = |text: &str| text.parse::<i64>().unwrap();
        cases.check("separates_groups_of_three_digits", |[number]| {
            super::thousands::grouped(number.parse().unwrap())
        });
        cases.check("uses_the_largest_unit_that_fits", |[seconds]| {
            super::relative_time::relative_time(TimeDelta::seconds(number(seconds)))
        });
        cases.check("a_percentile_is_one_of_the_values", |[first, count]| {
            let values: Vec<i64> = (number(first)..number(first) + number(count)).collect();
            [50, 95, 99].map(|percent| super::percentile::percentile(&values, percent).to_string()).join(" ")
        });
    }
}

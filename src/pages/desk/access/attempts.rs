//! The rate limit of failed logins.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::addresses::network_of;

/// Failures are counted for this time.
const WINDOW: Duration = Duration::from_mins(5);

/// The maximum number of failures of one network within [`WINDOW`].
const OF_ONE: usize = 5;

/// The maximum number of failures in total within [`WINDOW`].
const IN_TOTAL: usize = 100;

/// The first bits of an address that belong to one user: all of IPv4, a network of IPv6.
const fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 64 }
}

/// Failed logins of the last minutes, oldest first.
#[derive(Debug, Default)]
pub struct Attempts(VecDeque<(Instant, (bool, u128))>);

impl Attempts {
    /// Counts an attempt as failed before it is checked. An error is the time until the next attempt is allowed.
    pub fn begin(&mut self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        self.0.retain(|(at, _)| now.duration_since(*at) < WINDOW);
        let network = network_of(address.to_canonical(), bits(address.to_canonical()));
        let own: Vec<Instant> = self.0.iter().filter(|(_, of)| *of == network).map(|(at, _)| *at).collect();
        let all: Vec<Instant> = self.0.iter().map(|(at, _)| *at).collect();
        let free = |times: &[Instant], limit: usize| {
            times
                .len()
                .checked_sub(limit)
                .and_then(|at| times.get(at))
                .map(|at| WINDOW.saturating_sub(now.duration_since(*at)))
        };
        if let Some(wait) = free(&own, OF_ONE).max(free(&all, IN_TOTAL)) {
            return Err(wait);
        }
        self.0.push_back((now, network));
        Ok(())
    }

    /// Removes the failures of an address after a successful login.
    pub fn succeeded(&mut self, address: IpAddr) {
        let network = network_of(address.to_canonical(), bits(address.to_canonical()));
        self.0.retain(|(_, of)| *of != network);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an attempt from each of these addresses is allowed, all at one time.
    fn allowed(
        attempts: &mut Attempts,
        addresses: impl IntoIterator<Item = String>,
        now: Instant,
    ) -> Vec<bool> {
        let addresses = addresses.into_iter().map(|address| address.parse().unwrap());
        addresses.map(|address| attempts.begin(address, now).is_ok()).collect()
    }

    #[test]
    fn the_sixth_failure_of_an_address_has_to_wait() {
        let (mut attempts, start) = (Attempts::default(), Instant::now());
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse::<IpAddr>().unwrap());
        let at = |second| start + Duration::from_secs(second);
        (0..5).for_each(|second| attempts.begin(one, at(second)).unwrap());
        assert_eq!(attempts.begin(one, at(10)), Err(Duration::from_secs(290)));
        assert!(attempts.begin(other, at(10)).is_ok() && attempts.begin(one, start + WINDOW).is_ok());
        // A successful login clears the failures of its address.
        (0..4).for_each(|_| attempts.begin(one, at(400)).unwrap());
        attempts.succeeded(one);
        assert!(attempts.begin(one, at(400)).is_ok());
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_limit_and_all_together_have_one() {
        let now = Instant::now();
        let network = (0..6).map(|host| format!("2001:db8::{host}"));
        assert_eq!(allowed(&mut Attempts::default(), network, now), [true, true, true, true, true, false]);
        let mut attempts = Attempts::default();
        let all = allowed(&mut attempts, (0..IN_TOTAL).map(|host| format!("192.0.2.{host}")), now);
        assert!(all.into_iter().all(|is_allowed| is_allowed));
        assert_eq!(allowed(&mut attempts, ["198.51.100.1".to_owned()], now), [false]);
    }
}

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

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_sixth_failure_of_an_address_has_to_wait() {
        let (mut attempts, start) = (Attempts::default(), Instant::now());
        for second in 0..5 {
            attempts.begin(address("192.0.2.1"), start + Duration::from_secs(second)).unwrap();
        }
        let wait = attempts.begin(address("192.0.2.1"), start + Duration::from_secs(10)).unwrap_err();
        assert_eq!(wait, Duration::from_secs(290));
        assert!(attempts.begin(address("192.0.2.2"), start + Duration::from_secs(10)).is_ok());
        assert!(attempts.begin(address("192.0.2.1"), start + WINDOW).is_ok());
    }

    #[test]
    fn a_successful_login_clears_the_failures_of_its_address() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        (0..5).for_each(|_| attempts.begin(address("192.0.2.1"), now).unwrap());
        attempts.succeeded(address("192.0.2.1"));
        assert!(attempts.begin(address("192.0.2.1"), now).is_ok());
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_limit_and_all_together_have_one() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        for host in 0..5 {
            attempts.begin(address(&format!("2001:db8::{host}")), now).unwrap();
        }
        assert!(attempts.begin(address("2001:db8::99"), now).is_err());
        let mut attempts = Attempts::default();
        for host in 0..IN_TOTAL {
            attempts.begin(address(&format!("192.0.2.{host}")), now).unwrap();
        }
        assert!(attempts.begin(address("198.51.100.1"), now).is_err());
    }
}

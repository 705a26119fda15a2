//! Places that each peer has, so that one peer does not take those of all others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The places that are taken, by peer.
#[derive(Debug, Clone)]
pub struct Places {
    most: usize,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A place, which is given back when this is dropped.
#[derive(Debug)]
pub struct Place {
    peer: IpAddr,
    places: Places,
}

impl Places {
    /// `most` for each peer.
    pub fn new(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// A place for a peer; `None` if it has taken all of its places.
    pub fn take(&self, peer: IpAddr) -> Option<Place> {
        let peer = network(peer);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(peer).or_default();
        (*count < self.most).then(|| {
            *count += 1;
            Place { peer, places: self.clone() }
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.peer);
            }
        }
    }
}

/// The address of a peer; of IPv6, the network of 64 bits, of which one machine has all addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_its_places_and_leaves_those_of_others() {
        let places = Places::new(2);
        let take = |text: &str| places.take(text.parse().unwrap());
        let (first, _second) = (take("2001:db8::1").unwrap(), take("2001:db8::ffff:1").unwrap());
        assert!(take("2001:db8::2").is_none());
        assert!(take("2001:db8:0:1::2").is_some() && take("192.0.2.1").is_some());
        drop(first);
        assert!(take("2001:db8::2").is_some());
        let _kept = [take("192.0.2.1"), take("::ffff:192.0.2.1")].map(Option::unwrap);
        assert!(take("192.0.2.1").is_none());
    }
}

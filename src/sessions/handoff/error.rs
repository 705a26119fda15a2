//! Why a hand-over is not followed.

/// Why a hand-over is not followed. The texts say what to write instead, because the model reads them.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// The file cannot be read.
    #[error("handoff.json cannot be read ({0}); write it with `opsctl handoff write`")]
    Unreadable(std::io::Error),
    /// It is larger than 64 KiB.
    #[error("handoff.json has {0} bytes, and at most 65536 are allowed; write only what the next tier needs")]
    TooLarge(u64),
    /// It is not JSON of the expected schema.
    #[error("handoff.json is not a hand-over ({0}); see the example in the prompt")]
    Shape(String),
    /// It has another schema version.
    #[error("handoff.json has schema_version {0}, but only 1 is supported; write `\"schema_version\": 1`")]
    Version(f64),
    /// The recommended tier does not exist.
    #[error("handoff.json recommends tier {0}; the tiers to hand over to are 2 and 3")]
    NoSuchTier(f64),
    /// The recommended tier is not higher than the session's own.
    #[error("handoff.json of tier {from} recommends tier {to}; a hand-over leads to a higher tier")]
    NotHigher {
        /// The tier that hands over.
        from: u8,
        /// The tier that it recommends.
        to: u8,
    },
    /// A session of the highest tier hands over. Holds the services.
    #[error("a session of tier 3 handed over {0}, and no tier is higher; an operator has to take over")]
    HighestTier(String),
    /// It names no service.
    #[error("handoff.json names no service; list at least one under `services_affected`")]
    NoService,
    /// The name of a service is invalid.
    #[error("handoff.json names a service that is empty, too long or has control characters in its name")]
    ServiceName,
}

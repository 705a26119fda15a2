//! Why a hand-over is not followed.

/// Why a hand-over is not followed. The texts say what to write instead, since the model reads them.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// It is not a file with text in it.
    #[error("handoff.json cannot be read ({0}); write it with `opsctl handoff write`")]
    Unreadable(std::io::Error),
    /// It is larger than 64 KiB.
    #[error("handoff.json has {0} bytes, and 65536 are the most; keep to what the next tier needs")]
    TooLarge(u64),
    /// It is not JSON of this shape.
    #[error("handoff.json is not a hand-over ({0}); see the example in the prompt")]
    Shape(String),
    /// It is of another version.
    #[error("handoff.json is of schema_version {0}, and only 1 is known; write `\"schema_version\": 1`")]
    Version(i64),
    /// There is no such tier.
    #[error("handoff.json recommends tier {0}; the tiers to hand over to are 2 and 3")]
    NoSuchTier(i64),
    /// It does not lead up.
    #[error("handoff.json of tier {from} recommends tier {to}; a hand-over leads to a higher tier")]
    NotHigher {
        /// The tier that hands over.
        from: u8,
        /// The tier that it recommends.
        to: u8,
    },
    /// It is about nothing.
    #[error("handoff.json names no service; list at least one under `services_affected`")]
    NoService,
    /// A name that is none.
    #[error("handoff.json names a service that is empty, too long or has control characters in its name")]
    ServiceName,
}

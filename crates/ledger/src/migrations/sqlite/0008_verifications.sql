-- How the verifications of a session have ended that the Stop hook made: how often it may still be sent on, and
-- whether anything was done since it was let go.
CREATE TABLE verifications (
    id         INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    at         TEXT NOT NULL,
    outcome    TEXT NOT NULL CHECK (outcome IN ('healthy', 'unhealthy', 'given-up')),
    actions    INTEGER NOT NULL
);

-- Stop: those of one session.
CREATE INDEX verifications_by_session ON verifications(session_id, id);

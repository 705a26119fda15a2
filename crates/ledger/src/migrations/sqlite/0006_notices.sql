-- What an operator is to hear: written down where it is known, delivered by a process of its own.
CREATE TABLE notices (
    id            INTEGER PRIMARY KEY,
    key           TEXT NOT NULL,
    quiet_until   TEXT,
    session_id    TEXT,
    created_at    TEXT NOT NULL,
    level         TEXT NOT NULL,
    title         TEXT NOT NULL,
    body          TEXT NOT NULL,
    format        TEXT NOT NULL CHECK (format IN ('markdown', 'text')),
    tags          TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'delivered', 'failed', 'no_target')),
    attempts      INTEGER NOT NULL DEFAULT 0,
    claimed_until TEXT,
    delivered_at  TEXT,
    last_error    TEXT
);

-- PreToolUse: whether the operators have been told already.
CREATE INDEX notices_by_key ON notices(key, quiet_until);
-- SessionStart, flush: what has not been delivered.
CREATE INDEX notices_undelivered ON notices(created_at) WHERE state IN ('pending', 'sending', 'failed');

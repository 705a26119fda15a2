-- The sessions that `opsctl session` started. One that is `running` although nothing runs was cut off
-- together with opsctl itself.
CREATE TABLE client_runs (
    id            INTEGER PRIMARY KEY,
    session_id    TEXT NOT NULL,
    tier          INTEGER NOT NULL,
    model         TEXT NOT NULL,
    started_at    TEXT NOT NULL,
    ended_at      TEXT,
    outcome       TEXT NOT NULL
        CHECK (outcome IN ('running', 'completed', 'failed', 'timeout', 'signalled', 'not_started')),
    exit_code     INTEGER,
    cost_usd      REAL,
    turns         INTEGER,
    input_tokens  INTEGER,
    output_tokens INTEGER,
    duration_ms   INTEGER,
    log_path      TEXT
);

-- Those who look from a session's events to its log.
CREATE INDEX client_runs_by_session ON client_runs(session_id);

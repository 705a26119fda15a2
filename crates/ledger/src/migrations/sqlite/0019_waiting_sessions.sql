-- A session that ends because a call waits for a person has the outcome `waiting`. When it is resumed, its row goes on.
CREATE TABLE client_runs_waiting (
    id             INTEGER PRIMARY KEY,
    session_id     TEXT NOT NULL,
    tier           INTEGER NOT NULL,
    model          TEXT NOT NULL,
    started_at     TEXT NOT NULL,
    ended_at       TEXT,
    outcome        TEXT NOT NULL
        CHECK (outcome IN ('running', 'waiting', 'completed', 'failed', 'timeout', 'signalled', 'not_started')),
    exit_code      INTEGER,
    cost_usd       REAL,
    turns          INTEGER,
    input_tokens   INTEGER,
    output_tokens  INTEGER,
    duration_ms    INTEGER,
    log_path       TEXT,
    parent_session TEXT,
    first_session  TEXT,
    -- When it was resumed last.
    resumed_at     TEXT,
    -- The client's id of the call that waits, and the SHA-256 of the transcript that was kept.
    waiting_call   TEXT,
    transcript     TEXT
);
INSERT INTO client_runs_waiting
    (id, session_id, tier, model, started_at, ended_at, outcome, exit_code, cost_usd, turns, input_tokens, output_tokens,
     duration_ms, log_path, parent_session, first_session)
SELECT id, session_id, tier, model, started_at, ended_at, outcome, exit_code, cost_usd, turns, input_tokens, output_tokens,
       duration_ms, log_path, parent_session, first_session FROM client_runs;
DROP TABLE client_runs;
ALTER TABLE client_runs_waiting RENAME TO client_runs;
CREATE INDEX client_runs_by_session ON client_runs(session_id);
CREATE INDEX client_runs_by_first_session ON client_runs(first_session);
-- Those that wait are looked for before each round, and while the entrypoint sleeps.
CREATE INDEX client_runs_waiting ON client_runs(outcome) WHERE outcome = 'waiting';

-- The requests to the model that the guard has forwarded, with their cost in millionths of a US dollar. `estimated`: the
-- response did not state all tokens.
CREATE TABLE api_requests (
    id                    INTEGER PRIMARY KEY AUTOINCREMENT,
    at                    TEXT NOT NULL,
    session_id            TEXT NOT NULL,
    model                 TEXT NOT NULL,
    input_tokens          INTEGER NOT NULL,
    output_tokens         INTEGER NOT NULL,
    cache_write_tokens    INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL,
    cache_read_tokens     INTEGER NOT NULL,
    web_searches          INTEGER NOT NULL,
    cost_micros           INTEGER NOT NULL,
    estimated             INTEGER NOT NULL
);

-- Each request: the cost of the last 24 hours, and of its session.
CREATE INDEX api_requests_by_time ON api_requests(at, cost_micros);
CREATE INDEX api_requests_by_session ON api_requests(session_id, cost_micros);

-- What `opsctl prune` has deleted, so that counters of the metrics never decrease.
CREATE TABLE pruned_counts (
    counter TEXT NOT NULL,
    labels  TEXT NOT NULL,
    count   INTEGER NOT NULL,
    PRIMARY KEY (counter, labels)
) WITHOUT ROWID;

-- A service whose counters were cleared: by a person, or by two healthy checks in a row. What was written
-- down before stays, and no longer counts.
CREATE TABLE budget_resets (
    id      INTEGER PRIMARY KEY,
    service TEXT NOT NULL,
    at      TEXT NOT NULL,
    why     TEXT NOT NULL CHECK (why IN ('reset', 'healthy'))
);

-- PreToolUse: the last reset of one service.
CREATE INDEX budget_resets_by_service ON budget_resets(service, id);

-- Healthy checks in a row. The session manager of Claude Ops has the same table.
CREATE TABLE IF NOT EXISTS service_health_streak (
    service             TEXT PRIMARY KEY,
    consecutive_healthy INTEGER NOT NULL DEFAULT 0,
    last_checked_at     TEXT
);

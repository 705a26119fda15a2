-- What a session has been told about itself: the level of its context, so that each is told once, and to report before
-- it ends. `reported_at`: it has, by a notification or a hand-over.
CREATE TABLE session_reminders (
    session_id      TEXT PRIMARY KEY,
    context_level   INTEGER NOT NULL DEFAULT 0,
    report_asked_at TEXT,
    reported_at     TEXT,
    changed_at      TEXT NOT NULL
) WITHOUT ROWID;

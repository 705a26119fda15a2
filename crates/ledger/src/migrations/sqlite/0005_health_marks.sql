-- The session whose healthy check counted last: two checks of one session are one, so that an agent cannot
-- clear its own counters by asking twice.
CREATE TABLE health_marks (
    service    TEXT PRIMARY KEY,
    session_id TEXT NOT NULL
);

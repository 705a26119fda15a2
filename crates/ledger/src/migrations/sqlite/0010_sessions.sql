-- The sessions of the client, a row each. The `_us` columns are microseconds since 1970: what a state follows from. Whatever
-- order the hooks write in, the latest of each counts.
CREATE TABLE hook_sessions (
    session_id        TEXT PRIMARY KEY,
    client_session_id TEXT,
    tier              INTEGER,
    mode              TEXT,
    role              TEXT,
    model             TEXT,
    source            TEXT,
    cwd               TEXT,
    transcript        TEXT,
    parent_mission    TEXT,
    process           TEXT,
    started_at        TEXT NOT NULL,
    last_seen_at      TEXT NOT NULL,
    ended_at          TEXT,
    end_reason        TEXT,
    state             TEXT NOT NULL CHECK (state IN ('active', 'tool_active', 'idle', 'ended')),
    status            TEXT,
    status_at         TEXT,
    reminded_at       TEXT,
    awake_us          INTEGER NOT NULL DEFAULT 0,
    idle_us           INTEGER NOT NULL DEFAULT 0,
    over_us           INTEGER NOT NULL DEFAULT 0,
    settled_us        INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- `opsctl sessions`: the latest.
CREATE INDEX hook_sessions_by_sign ON hook_sessions(last_seen_at);

-- The tool calls of the turns that are under way. That one has begun may be written after that it is done, so both are
-- kept until the turn is over.
CREATE TABLE hook_calls (
    session_id  TEXT NOT NULL,
    tool_use_id TEXT NOT NULL,
    agent_id    TEXT,
    began_us    INTEGER,
    done        INTEGER NOT NULL,
    PRIMARY KEY (session_id, tool_use_id)
) WITHOUT ROWID;

-- The agents that a session has started. `settled_us`: its tool calls that began until then are done.
CREATE TABLE hook_subagents (
    session_id TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    agent_type TEXT,
    started_at TEXT,
    ended_at   TEXT,
    settled_us INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, agent_id)
) WITHOUT ROWID;

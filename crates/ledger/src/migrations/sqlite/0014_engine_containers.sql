-- The containers that engines have named, so that an ID is not asked for again. The host is empty for this machine.
CREATE TABLE engine_containers (
    host      TEXT NOT NULL,
    engine    TEXT NOT NULL,
    id        TEXT NOT NULL,
    container TEXT NOT NULL,
    seen_at   TEXT NOT NULL,
    -- PreToolUse and PostToolUse: the container of an ID or of its beginning.
    PRIMARY KEY (host, engine, id)
) WITHOUT ROWID;

-- What a command does to the world: `reads`, `acts`, `changes` or `unknown`. NULL: nothing asked for it.
ALTER TABLE hook_decisions ADD COLUMN effect TEXT;

import { schemaSteps } from '../schema/steps.ts'
import type { Schema } from '../schema-version.ts'
import { viewStatements } from '../views/views.ts'
import { SQLITE_VIEWS } from './view-dialect.ts'

/** Identifies the file as Lyra's (`pragma application_id`): the letters LYRA. */
export const APPLICATION_ID = 0x4c595241

const OWN_TABLES = `
  -- A market's id costs 64 bytes as text; a data point names its market by a small number instead.
  create table markets (
    market integer primary key,
    market_id text not null unique
  ) strict;

  create table funding_period_data_points (
    market integer not null,
    source integer not null,
    timestamp integer not null,
    seq integer not null,
    -- Integers where these read back as the same text (run-sql.ts).
    price any not null,
    twap any not null,
    height integer not null,
    event_index integer not null,
    primary key (market, source, timestamp, seq)
  ) strict, without rowid;

  -- Which store this is and how often it was written: distinguishes its own log from another's (wal-check.ts). Of the
  -- commits, those of upkeep are counted apart: a writer goes on beside them.
  create table store_file (
    id integer primary key check (id = 1),
    store_id text not null,
    commits integer not null,
    upkeep_commits integer not null,
    log_from integer not null
  ) strict;

  insert into store_file values (1, lower(hex(randomblob(16))), 0, 0, 0);`

/** The schema of a file, whose version is `pragma user_version`. */
export const SQLITE_SCHEMA: Schema = {
  oldest: 7,
  steps: schemaSteps({
    int64: 'integer',
    int32: 'integer',
    int16: 'integer',
    boolean: 'integer',
    key: 'text',
    keyed: ' strict, without rowid',
    numbered: ' strict',
    rewritten: ' strict, without rowid',
    emptied: 'delete from',
    own: OWN_TABLES,
  }),
  views: viewStatements(SQLITE_VIEWS),
}

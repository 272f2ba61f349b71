import { schemaSteps } from '../schema/steps.ts'
import type { Schema } from '../schema-version.ts'
import { viewStatements } from '../views/views.ts'
import { POSTGRES_VIEWS } from './view-dialect.ts'

/**
 * Every unique key of data points contains the market, and every query of data points names it, so that they can be
 * distributed by market.
 */
const OWN_TABLES = `
  create table markets (
    market integer primary key,
    market_id text collate "C" not null
  );
  create unique index markets_by_id on markets (market_id);

  create table funding_period_data_points (
    market integer not null,
    source smallint not null,
    seq bigint not null,
    timestamp bigint not null,
    height bigint not null,
    event_index integer not null,
    price text not null,
    twap text not null,
    -- Rows come in the order of the blocks, those of all markets mixed: a page read from the table itself would
    -- touch a block of the disk for each row. The index holds all that a page shows, in its order.
    primary key (market, source, timestamp, seq) include (price, twap)
  );`

/** The schema of a store in PostgreSQL. Texts that are compared are `collate "C"`, so that both databases sort alike. */
export const POSTGRES_SCHEMA: Schema = {
  oldest: 6,
  steps: schemaSteps({
    int64: 'bigint',
    int32: 'integer',
    int16: 'smallint',
    boolean: 'boolean',
    key: 'text collate "C"',
    keyed: '',
    numbered: '',
    // Free space in each page lets a new version of a row stay beside the old one, without an index entry.
    rewritten: ' with (fillfactor = 50)',
    emptied: 'truncate',
    own: OWN_TABLES,
  }),
  views: viewStatements(POSTGRES_VIEWS),
}

import type { Coverage } from '../../domain/coverage.ts'
import { type Batch, type LiquidityProviderList, spanKey } from '../../projections/batch.ts'
import { liquidityProviderRows } from '../../projections/liquidity-providers.ts'
import { blockSpansOf } from '../block-spans.ts'
import { changesOf, noteChanges } from '../changes.ts'
import { streamValues } from '../coverage-rows.ts'
import {
  CLAIM_PROVIDER_LIST,
  DELETE_AUCTIONS_AFTER,
  DELETE_GAPS,
  DELETE_PROVIDER,
  FIND_MARKET,
  INSERT_GAP,
  ON_CONFLICT_AUCTION,
  ON_CONFLICT_BLOCK_SPAN,
  ON_CONFLICT_CHECKPOINT,
  ON_CONFLICT_FUNDING_PERIOD,
  ON_CONFLICT_PROVIDER,
  ON_CONFLICT_PROVISION,
  ON_CONFLICT_SPAN,
  READ_PROVIDER_PARTIES,
  WRITE_STREAM,
} from '../statements.ts'
import { StoreError, type Writer, type WriterOptions } from '../store.ts'
import { Connection, explained } from './connection.ts'
import { logBytes } from './log-check.ts'
import { readCoverage } from './reader.ts'

const INSERT_CHECKPOINT = `
  insert into checkpoints (at_block, hash, block_hash, block_timestamp, height, event_index)
  values ($1, $2, $3, $4, $5, $6)
  ${ON_CONFLICT_CHECKPOINT}`

const INSERT_MARKET = 'insert into markets (market_id) values ($1)'

const INSERT_DATA_POINT = `
  insert into funding_period_data_points
    (market, source, timestamp, seq, price, twap, height, event_index)
  values ($1, $2, $3, $4, $5, $6, $7, $8)
  on conflict do nothing`

const UPDATE_DATA_POINT = `
  update funding_period_data_points set price = $5, twap = $6, height = $7, event_index = $8
  where market = $1 and source = $2 and timestamp = $3 and seq = $4 and ($7, $8) >= (height, event_index)`

const INSERT_SPAN = `
  insert into funding_period_spans (market, seq, first_timestamp, last_timestamp, points)
  values ($1, $2, $3, $4, $5)
  ${ON_CONFLICT_SPAN}`

const INSERT_BLOCK_SPAN = `
  insert into funding_period_block_spans (market, blocks, first_timestamp, last_timestamp)
  values ($1, $2, $3, $4)
  ${ON_CONFLICT_BLOCK_SPAN}`

const INSERT_FUNDING_PERIOD = `
  insert into funding_periods
    (market_id, seq, start_timestamp, end_timestamp, funding_payment, funding_rate, internal_twap,
      external_twap, height, event_index)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  ${ON_CONFLICT_FUNDING_PERIOD}`

const INSERT_AUCTION = `
  insert into auctions
    (market_id, height, event_index, opening_auction, leave, start_timestamp, end_timestamp)
  values ($1, $2, $3, $4, $5, $6, $7)
  ${ON_CONFLICT_AUCTION}`

const INSERT_PROVISION = `
  insert into liquidity_provisions (provision_id, market_id, party_id, status, height, event_index)
  values ($1, $2, $3, $4, $5, $6)
  ${ON_CONFLICT_PROVISION}`

const INSERT_PROVIDER = `
  insert into liquidity_providers (market_id, party_id, fee_share, sla) values ($1, $2, $3, $4)
  ${ON_CONFLICT_PROVIDER}`

const READ_COMMITS = `
  select cast(commits as text), cast(log_from as text), cast(upkeep_commits as text) from store_file`

const COUNT_COMMIT = 'update store_file set commits = commits + 1, log_from = $1'

/** The log is copied to the file once it holds this many bytes. */
const MAX_LOG_BYTES = 4 * 1024 * 1024

/** How often a log that could not be emptied is tried again, milliseconds, however little is written meanwhile. */
const RETRY_MS = 5_000

/** What the store holds after the writer's last commit. */
type Known = {
  coverage: Coverage | null
  /** The number of commits so far, by this writer, all before it, and upkeep. */
  commits: bigint
  /** How many of them are upkeep's, which takes rows out beside a writer at work (pruner.ts). */
  upkeepCommits: bigint
  /** How many of them the file held when its present log began (log-check.ts). */
  logFrom: bigint
}

/** Opens a writer on a connection of its own; makes the store or brings its schema up to date where needed. */
export function openSqliteWriter(path: string, { durable = false }: WriterOptions = {}): Writer {
  const connection = Connection.openForWriting(path)
  if (durable) connection.flushEveryCommit()
  /** Numbers of the markets seen; emptied when a commit fails, for it may have taken some back. */
  const markets = new Map<string, bigint>()
  let known = explained(path, readKnown)
  /** The log's size at which it is to be copied to the file. */
  let copyAt = MAX_LOG_BYTES
  let retryAt = 0

  function marketNumber(marketId: string): bigint {
    let market = markets.get(marketId)
    if (market === undefined) {
      if (connection.row(FIND_MARKET, [marketId]) === null) connection.run(INSERT_MARKET, [marketId])
      market = BigInt(connection.row(FIND_MARKET, [marketId])![0]!)
      markets.set(marketId, market)
    }
    return market
  }

  function writeProviderList({ event, height, eventIndex }: LiquidityProviderList): void {
    const { marketId } = event
    if (connection.row(CLAIM_PROVIDER_LIST, [marketId, height, BigInt(eventIndex)]) === null) return
    const providers = liquidityProviderRows(event)
    const parties = new Set(providers.map(({ partyId }) => partyId))
    for (const [party] of connection.rows(READ_PROVIDER_PARTIES, [marketId])) {
      if (!parties.has(party as string)) connection.run(DELETE_PROVIDER, [marketId, party as string])
    }
    for (const { partyId, feeShare, sla } of providers) {
      connection.run(INSERT_PROVIDER, [marketId, partyId, feeShare, sla])
    }
  }

  function writeDataPoints(batch: Batch): void {
    const inserted = new Map<string, bigint>()
    for (const row of batch.fundingPeriodDataPoints) {
      const values = [
        marketNumber(row.marketId),
        BigInt(row.source),
        row.timestamp,
        row.seq,
        row.price,
        row.twap,
        row.height,
        BigInt(row.eventIndex),
      ]
      if (connection.run(INSERT_DATA_POINT, values) === 0) connection.run(UPDATE_DATA_POINT, values)
      else {
        const span = spanKey(row)
        inserted.set(span, (inserted.get(span) ?? 0n) + 1n)
      }
    }
    for (const [key, { marketId, seq, first, last }] of batch.fundingPeriodSpans) {
      connection.run(INSERT_SPAN, [marketNumber(marketId), seq, first, last, inserted.get(key) ?? 0n])
    }
    for (const { marketId, blocks, first, last } of blockSpansOf(batch.fundingPeriodDataPoints)) {
      connection.run(INSERT_BLOCK_SPAN, [marketNumber(marketId), blocks, first, last])
    }
  }

  function writeRows(batch: Batch): void {
    for (const { height, eventIndex } of batch.replaced) {
      connection.run(DELETE_AUCTIONS_AFTER, [height, BigInt(eventIndex)])
    }
    for (const row of batch.checkpoints) {
      connection.run(INSERT_CHECKPOINT, [
        row.atBlock,
        row.hash,
        row.blockHash,
        row.blockTimestamp,
        row.height,
        BigInt(row.eventIndex),
      ])
    }
    writeDataPoints(batch)
    for (const row of batch.fundingPeriods) {
      connection.run(INSERT_FUNDING_PERIOD, [
        row.marketId,
        row.seq,
        row.start,
        row.end,
        row.fundingPayment,
        row.fundingRate,
        row.internalTwap,
        row.externalTwap,
        row.height,
        BigInt(row.eventIndex),
      ])
    }
    for (const row of batch.auctions) {
      connection.run(INSERT_AUCTION, [
        row.marketId,
        row.height,
        BigInt(row.eventIndex),
        row.openingAuction ? 1n : 0n,
        row.leave ? 1n : 0n,
        row.start,
        row.end,
      ])
    }
    for (const row of batch.liquidityProvisions.values()) {
      connection.run(INSERT_PROVISION, [
        row.provisionId,
        row.marketId,
        row.partyId,
        BigInt(row.status),
        row.height,
        BigInt(row.eventIndex),
      ])
    }
    for (const list of batch.liquidityProviderLists.values()) writeProviderList(list)
  }

  function writeCoverage(coverage: Coverage): void {
    const { gaps } = coverage
    connection.run(WRITE_STREAM, streamValues(coverage))
    if (gaps === known.coverage?.gaps) return
    connection.run(DELETE_GAPS)
    for (const gap of gaps) connection.run(INSERT_GAP, [gap.from, gap.to, gap.kind])
  }

  function readKnown(): Known {
    return connection.transaction('deferred', () => {
      const [commits, logFrom, upkeepCommits] = connection.row(READ_COMMITS) as [string, string, string]
      // Looked at behind the count, which upkeep may raise at any time: what is counted stands in the file then.
      const isLogEmpty = logBytes(path) === 0
      return {
        coverage: readCoverage(connection),
        commits: BigInt(commits),
        upkeepCommits: BigInt(upkeepCommits),
        logFrom: BigInt(isLogEmpty ? commits : logFrom),
      }
    })
  }

  /** Two programs that write to one store would each go on from what the other has changed. */
  function refuseOtherWriter(): void {
    const [commits, , upkeep] = connection.row(READ_COMMITS) as [string, string, string]
    const upkeepCommits = BigInt(upkeep)
    if (BigInt(commits) - upkeepCommits === known.commits - known.upkeepCommits) {
      known = { ...known, commits: BigInt(commits), upkeepCommits }
      return
    }
    throw new StoreError(`${path}: another program writes to this store; let one of them finish first`)
  }

  function refuseOtherFile(): void {
    if (connection.isInPlace) return
    throw new StoreError(
      `${path}: the store has been removed or replaced meanwhile; nothing more is written. Start again`,
    )
  }

  /** Copies a long log to the file. While a reader of an older snapshot is in the way it grows on. */
  function keepLogShort(): void {
    const bytes = logBytes(path)
    if (bytes === 0) {
      // Someone who has read for long has emptied it (shorten-log.ts).
      known.logFrom = known.commits
      copyAt = MAX_LOG_BYTES
      return
    }
    if (bytes < copyAt && (bytes < MAX_LOG_BYTES || performance.now() < retryAt)) return
    const isEmpty = connection.truncateLog()
    if (isEmpty) known.logFrom = known.commits
    copyAt = (isEmpty ? 0 : bytes) + MAX_LOG_BYTES
    retryAt = performance.now() + RETRY_MS
  }

  return {
    coverage: async () => {
      known = explained(path, readKnown)
      return known.coverage
    },

    commit: async (batch, coverage) => {
      try {
        explained(path, () => {
          refuseOtherFile()
          keepLogShort()
          connection.transaction('immediate', () => {
            refuseOtherWriter()
            writeRows(batch)
            writeCoverage(coverage)
            connection.run(COUNT_COMMIT, [known.logFrom])
            connection.runAll(noteChanges(changesOf(batch)))
          })
        })
        known = { ...known, coverage, commits: known.commits + 1n }
      } catch (error) {
        markets.clear()
        throw error
      }
    },

    close: async () => {
      // Readers keep the file open: SQLite would leave the log as it is.
      try {
        if (connection.isInPlace) connection.truncateLog()
      } catch {
        // The log stays, and is copied another time.
      }
      connection.close()
    },
  }
}

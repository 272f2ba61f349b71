import type { Coverage } from '../../../domain/coverage.ts'
import { type EventPosition, hasBlock, isBefore } from '../../../domain/event-position.ts'
import { MAX_INT64 } from '../../../domain/integers.ts'
import { type Auctions, forgetClosedAuctions, noAuctions } from '../../../funding/auctions.ts'
import {
  type AuctionChange,
  changeAuctions,
  type EstimateAt,
  estimatesOf,
  unknownEstimate,
} from '../../../funding/estimate-history.ts'
import type { Query } from '../../queries-protocol.ts'
import type { PrunedBefore } from '../pruned.ts'
import {
  type Figures,
  figuresOf,
  type MarketInputs,
  type PointLimit,
  type Positioned,
  readPeriodPoints,
  type StoredPeriod,
} from './market-inputs.ts'

/** What a period would have paid, had it ended at a time, or what it has paid; null if what it follows from is not stored. */
export type HistoricEstimate = Figures & {
  time: bigint
  seq: bigint
  /** Whether the market's parameters are those of the time, or of an event after it: only the latest are stored. */
  parameters: 'current' | 'later'
}

/** What the estimates of a market's periods follow from, what of it may be missing, and how much of it may be read. */
type EstimateInputs = MarketInputs & PointLimit & StoredParts

/** Which blocks are stored, and how far their rows have been pruned. */
type StoredParts = { coverage: Coverage; pruned: PrunedBefore | null }

/**
 * Reads the estimates of a period; null if it has more points than may be read.
 *
 * @param isWanted whether the estimate of a time is needed
 */
export function* readPeriodEstimates(
  period: StoredPeriod,
  inputs: EstimateInputs,
  isWanted: (time: bigint) => boolean,
): Query<HistoricEstimate[] | null> {
  const { seq, start, end, began, latest } = period
  const { terms, termsHeight, auctions } = inputs
  const points = yield* readPeriodPoints(inputs.market, seq, inputs)
  if (points === null) return null
  const events = [...points, ...auctions.filter(({ position }) => isBefore(began, position))]
    .filter(({ position }) => end === null || !isBefore(latest, position))
    .sort((a, b) => (isBefore(a.position, b.position) ? -1 : 1))
  const estimates = estimatesOf(
    { seq, start, end, auctions: auctionsAt(began, auctions) },
    events.map(({ event }) => event),
    terms,
    isWanted,
  )
  const heights = new Map(points.map(({ event, position }) => [event.time, position.height]))
  const knownTo = knownUpTo(period, inputs)
  return estimates.map((computed) => {
    const { time } = computed
    const estimate = time <= knownTo ? computed : unknownEstimate(time)
    const isPaid = estimate.payment === null && time === end
    const height = heights.get(time) ?? latest.height
    return {
      time,
      seq,
      ...(isPaid ? period.paid : figuresAt(estimate)),
      parameters: height < termsHeight ? 'later' : 'current',
    }
  })
}

function figuresAt({ internalTwap, externalTwap, payment }: EstimateAt): Figures {
  return figuresOf(
    internalTwap?.toString() ?? null,
    externalTwap?.toString() ?? null,
    payment?.fundingPayment ?? null,
    payment?.fundingRate ?? null,
  )
}

/** A market's auctions as a period that begins at a position knows them: ended ones are forgotten. */
function auctionsAt(began: EventPosition, changes: readonly Positioned<AuctionChange>[]): Auctions {
  const auctions = noAuctions()
  for (const { event, position } of changes) if (!isBefore(began, position)) changeAuctions(auctions, event)
  forgetClosedAuctions(auctions)
  return auctions
}

/**
 * Up to when the TWAPs of a period are known: up to the last block before the first of its blocks that is missing or
 * incomplete. They are not known at all if its points may be pruned, or its blocks were imported: without auctions.
 */
function knownUpTo({ start, began, latest }: StoredPeriod, { coverage, pruned }: StoredParts): bigint {
  const isPruned =
    pruned !== null &&
    ((pruned.timestamp !== null && start < BigInt(pruned.timestamp)) ||
      (pruned.height !== null && began.height < BigInt(pruned.height)))
  const isImported =
    !hasBlock(began.height) ||
    coverage.imported.some(({ from, to }) => began.height <= to && latest.height >= from)
  if (isPruned || isImported) return start - 1n
  const gap = coverage.gaps.find((one) => one.end === null || one.end > start)
  if (gap === undefined) return MAX_INT64
  return gap.start ?? start - 1n
}

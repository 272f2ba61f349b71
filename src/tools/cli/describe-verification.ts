import { formatTime } from '#core/domain/time'
import { count } from '#core/domain/words'
import type { TwapMethod } from '#core/funding/market-verifier'
import { type Counts, countAll } from '../verify/judgements.ts'
import type {
  FundingDifference,
  FundingReport,
  FundingUnknownReason,
  TwapDifference,
  VerifyReport,
} from '../verify/tally.ts'
import { table } from './table.ts'

export const METHOD_NAMES: Record<TwapMethod, string> = {
  'running-sum': 'as the core computes them',
  'plain-formula': 'by the plain formula',
}

/** Why TWAPs, payments, rates and estimates are unknown, in words. */
const UNKNOWN_REASONS: Record<FundingUnknownReason, string> = {
  'events missing': 'events before them are missing: the period was not seen from its start',
  imported:
    'cannot be checked: they belong to imported blocks, or to a period that contains imported blocks; an import has neither all points nor their order',
  'auctions unknown': 'after missing events: whether an auction was in progress is unknown',
  'points pruned': 'points before them have been pruned',
  'market data not stored':
    'the period ends before its last point: its TWAP depends on market data that a store does not contain; verify event files instead',
  'message refused':
    'the period ends before its last point, with the TWAP that the core sends after refusing a message; a refused message produces no event (docs/twap.md)',
  'source unspecified': 'the point names no source',
  'parameters unknown':
    "the market's funding parameters are unknown: give files with its market event, or flags (--interest-rate, ...)",
  'parameters may have changed':
    "missing events may have changed the market's funding parameters; give the parameters as flags",
  'not a number': 'a parameter, TWAP or estimate is not a number',
}

/** Formats the result of a verification for people. */
export function describeVerification(report: VerifyReport, method: TwapMethod): string {
  const row = (title: string, { agree, differ, unknown }: Counts) => [
    title,
    ...[agree, differ, unknown].map(count),
  ]
  const lines = [
    `TWAPs of ${count(report.markets)} markets, ${METHOD_NAMES[method]}`,
    '',
    ...table(
      [
        ['', 'agree', 'differ', 'unknown'],
        row('data points', report.dataPoints),
        row('closing TWAPs', report.closingTwaps),
        row('closing TWAPs of zero-length periods', report.closingTwapsOfNoLength),
        row('opening TWAPs', report.openingTwaps),
      ],
      [1, 2, 3],
    ),
  ]
  lines.push(...describeUnknown(report.unknownReasons))
  for (const difference of report.differences) lines.push('', ...describeTwapDifference(difference))
  const hidden = report.differenceCount - report.differences.length
  if (hidden > 0) lines.push('', `and ${count(hidden)} more periods and sources that differ`)
  lines.push(...describeFunding(report.funding, row))
  return lines.join('\n')
}

function describeUnknown(reasons: Partial<Record<FundingUnknownReason, number>>): string[] {
  const lines = Object.entries(reasons).map(
    ([reason, times]) => `unknown: ${count(times)}, ${UNKNOWN_REASONS[reason as FundingUnknownReason]}`,
  )
  return lines.length === 0 ? [] : ['', ...lines]
}

/** Payments, rates and estimates; empty if the input has none. */
function describeFunding(report: FundingReport, row: (title: string, counts: Counts) => string[]): string[] {
  const { paidPeriods, estimates, partyPayments, differences, differenceCount } = report
  const kinds: [string, Counts][] = [
    ['payments and rates of periods', paidPeriods],
    ['estimates in market data', estimates],
    ['payments of parties, by period', partyPayments],
  ]
  const rows = kinds.filter(([, counts]) => countAll(counts) > 0)
  if (rows.length === 0) return []
  const head = ['funding', 'agree', 'differ', 'unknown']
  const lines = ['', ...table([head, ...rows.map(([title, counts]) => row(title, counts))], [1, 2, 3])]
  lines.push(...describeUnknown(report.unknownReasons))
  for (const difference of differences) lines.push('', ...describeFundingDifference(difference))
  const hidden = differenceCount - differences.length
  if (hidden > 0) lines.push('', `and ${count(hidden)} more periods whose funding differs`)
  return lines
}

/** A differing event, in one line. */
function describeEvent({ of, timestamp, height, eventIndex }: FundingDifference | TwapDifference): string {
  return `  ${of} at ${formatTime(BigInt(timestamp))} (${timestamp}), block ${height}, event ${eventIndex}`
}

function describeFundingDifference(difference: FundingDifference): string[] {
  const { marketId, seq, values, further } = difference
  return [
    `market ${marketId}, funding period ${seq}`,
    describeEvent(difference),
    ...values.map(
      ({ name, sent, expected }) => `  ${name}: sent ${sent ?? 'nothing'}, expected ${expected ?? 'nothing'}`,
    ),
    ...(further > 0 ? [`  ${count(further)} more in this period differ`] : []),
  ]
}

function describeTwapDifference(difference: TwapDifference): string[] {
  const { marketId, seq, source, sent, expected } = difference
  const { cause, agreedBefore, further } = difference
  return [
    `market ${marketId}, funding period ${seq}, ${source}`,
    describeEvent(difference),
    `  sent ${sent ?? 'nothing'}, expected ${expected ?? 'nothing'}; ${count(agreedBefore)} agree before it, ${count(further)} more differ`,
    `  ${cause}`,
  ]
}

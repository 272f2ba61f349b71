import { formatTime } from '../domain/time.ts'
import type { TwapMethod } from '../funding/market-verifier.ts'
import type { Counts, UnknownReason } from '../verify/counts.ts'
import type { FundingDifference, FundingReport, FundingUnknownReason } from '../verify/funding-tally.ts'
import type { Difference, VerifyReport } from '../verify/tally.ts'
import { count } from './figures.ts'
import { table } from './table.ts'

const METHOD_NAMES: Record<TwapMethod, string> = {
  'running-sum': 'by the running sum, as the core keeps it',
  'plain-formula': 'by the plain formula',
}

/** Why TWAPs, payments, rates and estimates are unknown, in words. */
const REASONS: Record<UnknownReason | FundingUnknownReason, string> = {
  'events missing': 'events before them are missing: the period was not seen from its beginning',
  imported:
    'cannot be proven: they are of imported blocks, or of a period that such blocks are part of; an import has neither all points nor their order',
  'auctions not known': 'after missing events: whether an auction was in progress is not known',
  'points pruned': 'points before them have been pruned',
  'market data not kept':
    'the period ends before its last point: it depends on market data, which a store does not keep; verify event files',
  'message refused':
    'the period ends before its last point, with the TWAP that the core sends after a message that it refused; such a message leaves no event (docs/twap.md)',
  'source unspecified': 'the point names no source',
  'parameters not known':
    "the market's funding parameters are not known: give files with its market event, or flags (--interest-rate, ...)",
  'parameters may have changed':
    "events are missing that may have changed the market's funding parameters; give them by flags",
  'not a number': 'a parameter, a TWAP or an estimate is not a number to calculate with',
}

/** What a verification has come to, for people. */
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
        row('ends of periods', report.closingTwaps),
        row('ends of periods of no length', report.closingTwapsOfNoLength),
        row('beginnings of periods', report.openingTwaps),
      ],
      [1, 2, 3],
    ),
  ]
  lines.push(...describeUnknown(report.unknownReasons))
  for (const difference of report.differences) lines.push('', ...describeDifference(difference))
  const hidden = report.differenceCount - report.differences.length
  if (hidden > 0) lines.push('', `and ${count(hidden)} periods and sources more that differ`)
  lines.push(...describeFunding(report.funding, row))
  return lines.join('\n')
}

function describeUnknown(reasons: Partial<Record<FundingUnknownReason, number>>): string[] {
  const lines = Object.entries(reasons).map(
    ([reason, times]) => `unknown: ${count(times)}, ${REASONS[reason as FundingUnknownReason]}`,
  )
  return lines.length === 0 ? [] : ['', ...lines]
}

/** Payments, rates and estimates; nothing where the input has none. */
function describeFunding(report: FundingReport, row: (title: string, counts: Counts) => string[]): string[] {
  const { paidPeriods, estimates, differences, differenceCount } = report
  const kinds: [string, Counts][] = [
    ['payments and rates of periods', paidPeriods],
    ['estimates in market data', estimates],
  ]
  const rows = kinds.filter(([, { agree, differ, unknown }]) => agree + differ + unknown > 0)
  if (rows.length === 0) return []
  const head = ['funding', 'agree', 'differ', 'unknown']
  const lines = ['', ...table([head, ...rows.map(([title, counts]) => row(title, counts))], [1, 2, 3])]
  lines.push(...describeUnknown(report.unknownReasons))
  for (const difference of differences) lines.push('', ...describeFundingDifference(difference))
  const hidden = differenceCount - differences.length
  if (hidden > 0) lines.push('', `and ${count(hidden)} periods more that differ in funding`)
  return lines
}

function describeFundingDifference(difference: FundingDifference): string[] {
  const { marketId, seq, of, timestamp, height, eventIndex, values, further } = difference
  return [
    `market ${marketId}, funding period ${seq}`,
    `  ${of} at ${formatTime(BigInt(timestamp))} (${timestamp}), block ${height}, event ${eventIndex}`,
    ...values.map(
      ({ name, sent, expected }) => `  ${name}: sent ${sent ?? 'nothing'}, expected ${expected ?? 'nothing'}`,
    ),
    ...(further > 0 ? [`  ${count(further)} more of the period differ`] : []),
  ]
}

function describeDifference(difference: Difference): string[] {
  const { marketId, seq, source, of, timestamp, height, eventIndex, sent, expected } = difference
  const { cause, agreedBefore, further } = difference
  return [
    `market ${marketId}, funding period ${seq}, ${source}`,
    `  ${of} at ${formatTime(BigInt(timestamp))} (${timestamp}), block ${height}, event ${eventIndex}`,
    `  sent ${sent ?? 'nothing'}, expected ${expected ?? 'nothing'}; ${count(agreedBefore)} agree before it, ${count(further)} more differ`,
    `  ${cause}`,
  ]
}

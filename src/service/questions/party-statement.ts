import { describeRanges } from '#core/domain/height-ranges'
import { NETWORK } from '#core/domain/ids'
import { NOT_INCLUDED, STATEMENT_KINDS, type StatementRow } from '#core/domain/statement'
import { formatTime } from '#core/domain/time'
import { count, listed } from '#core/domain/words'
import {
  MAX_STATEMENT_ENTRIES,
  type PartyStatement,
  type PartyStatementQuery,
  readPartyStatement,
} from '#core/store/queries/payments/party-statement'
import { type FileColumn, type FileOptions, fileAnswer, fileOptionsOf } from './csv-file.ts'
import { MISSING_SCHEMAS, missingText } from './missing-rows.ts'
import { listOf, named, nullable, objectOf, valueSchema } from './node-schemas.ts'
import { partyIdOfPath } from './page-request.ts'
import { byName, dateRangeOf, dateRangeParameters } from './parameters.ts'
import { type JsonSchema, type Question, renderedBody } from './question.ts'

const nullableText = (description: string) => nullable(valueSchema('text', description))

const ROW_SCHEMAS: Readonly<Record<keyof StatementRow, JsonSchema>> = {
  time: valueSchema('text', 'Time of the block, RFC 3339 in UTC.'),
  market: nullableText('Short name of the market. Null if it is not stored.'),
  marketId: valueSchema('marketId', 'The market.'),
  kind: { type: 'string', description: 'What the row is of.', enum: STATEMENT_KINDS },
  period: nullableText('Number of the funding period within its market.'),
  epoch: nullableText('Number of the epoch of a fee or penalty.'),
  rate: nullableText('Funding rate of the period. Null if that is not stored.'),
  size: nullableText(
    'Position that was paid for, positive for a long one, rounded to the steps of the market. Null after losses, if a step pays less than two of the smallest unit, and if period or market are not stored.',
  ),
  amount: nullableText('Change of the balance, in whole units of the asset. Null if it is not known.'),
  runningTotal: nullableText('Sum of the amounts of the asset up to this row. Null if the amount is.'),
  lossAmount: nullableText(
    'Part of a funding payment that others could not pay, zero or negative, in whole units; `amount` is without it.',
  ),
  asset: nullableText('Symbol of the asset. Null if it is not stored.'),
  assetId: nullableText('The asset. Null if the market is not stored.'),
  note: nullableText('Why the amount is not known.'),
}

const BODY = objectOf({
  partyStatement: objectOf({
    partyId: valueSchema('partyId', 'The party.'),
    rows: listOf(
      named('StatementRow', objectOf(ROW_SCHEMAS)),
      'Funding payments, liquidity fees and fee penalties, in time order. Fees are before the penalty, which is a row of its own.',
    ),
    incomplete: listOf(
      valueSchema('text'),
      'Why the statement may not have everything that it should, in plain English. Empty if it has.',
    ),
    notIncluded: listOf(valueSchema('text'), 'What no statement has.'),
  }),
  ...MISSING_SCHEMAS,
})

const COLUMNS: readonly (FileColumn & { name: keyof StatementRow })[] = [
  { name: 'time', kind: 'text' },
  { name: 'market', kind: 'text' },
  { name: 'marketId', kind: 'text' },
  { name: 'kind', kind: 'text' },
  { name: 'period', kind: 'integer' },
  { name: 'epoch', kind: 'integer' },
  { name: 'rate', kind: 'text' },
  { name: 'size', kind: 'text' },
  { name: 'amount', kind: 'text' },
  { name: 'runningTotal', kind: 'text' },
  { name: 'lossAmount', kind: 'text' },
  { name: 'asset', kind: 'text' },
  { name: 'assetId', kind: 'text' },
  { name: 'note', kind: 'text' },
]

type CheckedStatement = PartyStatementQuery & { file: FileOptions | null }

/** What a party paid and received, for an accountant: a row for each funding payment, and for the fees of each epoch. */
export const partyStatementQuestion: Question<CheckedStatement> = {
  path: '/api/v2/party-statements/:partyId',
  parameters: byName([
    ...dateRangeParameters(
      'Rows at or after this time, Unix nanoseconds.',
      'Rows before this time, Unix nanoseconds.',
    ),
  ]),
  check: (values, pathId) => ({
    partyId: partyIdOfPath(pathId),
    ...dateRangeOf(values),
    file: fileOptionsOf(values, []),
  }),
  render: async (query, { reader }) => {
    const answer = await reader.read(() => readPartyStatement(query))
    if (answer === null) return null
    const { storeHead, version, rows, isTooLong } = answer
    const { partyId, file } = query
    if (isTooLong) {
      const refusal = `parsing field "dateRange": a statement has at most ${count(MAX_STATEMENT_ENTRIES)} payments and epochs, and the range has more: ask for shorter ranges, such as single months`
      return { ...renderedBody({}, storeHead, null), refusal }
    }
    const incomplete = incompleteReasons(answer, query)
    if (file !== null) {
      const name = fileNameOf(query, answer, incomplete.length > 0)
      return fileAnswer({ name, ...file }, COLUMNS, { rows: fileRows(rows, incomplete), more: false }, answer)
    }
    const statement = { partyId, rows, incomplete, notIncluded: NOT_INCLUDED }
    return renderedBody({ partyStatement: statement, ...missingText(answer) }, storeHead, version)
  },
  workload: () => ({ queue: 'report' }),
  // What is missing changes with any block.
  sourceOf: () => 'the next commit',
  description: {
    operationId: 'getPartyStatement',
    summary: 'Get a statement of the funding payments, liquidity fees and fee penalties of a party',
    body: BODY,
    isFile: true,
  },
}

/** So many ranges of missing blocks are named in a reason. */
const MOST_RANGES = 10

function incompleteReasons(
  { missing, since, unknown, rows, storeHead }: PartyStatement,
  { partyId, end }: PartyStatementQuery,
): string[] {
  const reasons: string[] = []
  if (missing.length > 0)
    reasons.push(
      `blocks are missing, incomplete, or imported without some rows: ${describeRanges(missing, MOST_RANGES)}`,
    )
  if (since !== null) {
    const time = since.start === null ? '' : ` (${formatTime(since.start)})`
    reasons.push(`rows before block ${since.height}${time} may be missing`)
  }
  const headTime = BigInt(storeHead.timestamp)
  if (end !== null && end > headTime + 1n)
    reasons.push(`the range ends after the last stored block, ${storeHead.height} (${formatTime(headTime)})`)
  if (unknown > 0) reasons.push(`${count(unknown)} of ${count(rows.length)} amounts are not known`)
  if (partyId === NETWORK) reasons.push('no event says what the network really paid')
  return reasons
}

/** `statement-3e6558d0-2024-09-01-2024-10-01` */
function fileNameOf(
  { partyId, start, end }: PartyStatementQuery,
  { storeHead }: PartyStatement,
  isIncomplete: boolean,
): string {
  const from = start === null ? 'start' : nameOfTime(start)
  const to = nameOfTime(end ?? BigInt(storeHead.timestamp))
  return `statement-${partyId.slice(0, 8)}-${from}-${to}${isIncomplete ? '-incomplete' : ''}`
}

/** A date, or a time to the second, as part of a file's name: `2024-09-01`, `2024-09-01T163000Z`. */
function nameOfTime(time: bigint): string {
  return formatTime(time)
    .replace('T00:00:00Z', '')
    .replaceAll(':', '')
    .replace(/\.\d+Z$/, 'Z')
}

function fileRows(
  rows: readonly StatementRow[],
  incomplete: readonly string[],
): (readonly (string | null)[])[] {
  const remark = (kind: string, note: string) =>
    COLUMNS.map(({ name }) => (name === 'kind' ? kind : name === 'note' ? note : null))
  return [
    ...rows.map((row) => COLUMNS.map(({ name }) => row[name])),
    ...incomplete.map((reason) => remark('incomplete', reason)),
    remark('not included', listed(NOT_INCLUDED)),
  ]
}

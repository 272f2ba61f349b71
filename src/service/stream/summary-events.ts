import { nodeWriter } from '#core/resources/field'
import { fingerprintOf } from '#core/resources/fingerprint'
import { marketSummaries } from '#core/resources/market-summaries'
import type { Row } from '#core/resources/resource'
import type { ChangedSummaries } from '#core/store/readings/market-summaries'
import { MAX_PIECE_BYTES } from './follower.ts'

const [, ...PARTS] = marketSummaries.fields

const SUMMARY_COLUMNS = marketSummaries.storage.columns.map(({ name }) => name)

/** Each writes an object of one part. */
const PART_WRITERS = PARTS.map((part) => nodeWriter([part], SUMMARY_COLUMNS))

/** The parts of a summary that differ from an earlier one, with the market's id, as JSON; null if all are equal. */
export function changeNode(row: Row, before: Row | undefined): string | null {
  if (before === undefined) return marketSummaries.node(row, {})
  let parts = ''
  // The market's id precedes the parts.
  for (const [index, write] of PART_WRITERS.entries()) {
    if (row[index + 1] !== before[index + 1]) parts += `,${write(row, {}).slice(1, -1)}`
  }
  return parts === '' ? null : `{"marketId":"${row[0]}"${parts}}`
}

/** The id alone, of a moment without changes. */
export function idText(id: string): string {
  return `id: ${id}\n\n`
}

/** Events in pieces of a bounded length. Only the last event has an id: before it, the state is incomplete. */
export function eventPieces(nodes: readonly string[], id: string): Buffer[] {
  if (nodes.length === 0) return [Buffer.from(idText(id))]
  const pieces: Buffer[] = []
  let text = ''
  for (const [index, node] of nodes.entries()) {
    const isLast = index === nodes.length - 1
    text += `${isLast ? `id: ${id}\n` : ''}event: ${marketSummaries.name}\ndata: ${node}\n\n`
    if (!isLast && text.length < MAX_PIECE_BYTES) continue
    pieces.push(Buffer.from(text))
    text = ''
  }
  return pieces
}

/* An id consists of the tag of market summaries, followed by `a` for all markets or by the market's fingerprint, and the name of a reading: height, version of the store, and mark of that version. */

const HEAD = `s${marketSummaries.tag}`
const READING = /^[0-9a-z]{1,13}-[0-9a-z]{1,13}-[0-9a-z]{1,13}$/

const summaryIdHead = (marketId: string | null) =>
  marketId === null ? `${HEAD}a_` : `${HEAD}_${fingerprintOf(marketId)}_`

export function nameOfReading({ position, version: { version } }: ChangedSummaries): string {
  const numbers = [position.height, version.version, version.mark]
  return numbers.map((number) => BigInt(number).toString(36)).join('-')
}

export function encodeSummaryId(marketId: string | null, reading: string): string {
  return summaryIdHead(marketId) + reading
}

/** The name of the reading in an id; null for an id of another stream. */
export function decodeSummaryId(marketId: string | null, id: string): string | null {
  const head = summaryIdHead(marketId)
  const reading = id.slice(head.length)
  return id.startsWith(head) && READING.test(reading) ? reading : null
}

import type { Coverage } from '#core/domain/coverage'
import { isBefore } from '#core/domain/event-position'
import { type HeightRange, without } from '#core/domain/height-ranges'
import { count } from '#core/domain/words'
import type { Batch } from '#core/model/batch'
import type { GainedRows } from '#core/store/queries-protocol'
import { tableOf } from '#core/store/schema/tables'
import type { Writer } from '#core/store/store'
import type { TableReader } from '#core/store/table-reader'
import { allRows, type NamedRow, namedRow, positionOfRow, walkTable } from '#core/store/walk-table'
import { type Compared, NAME_OF, PROVIDERS } from './allowances.ts'
import type { StoreCheck } from './check-store.ts'
import { describeRow } from './compare-tables.ts'

const OLD_POSITIONS = tableOf('old_positions')

type Reading = { store: TableReader; files: TableReader }

/**
 * A writer that notes whether the blocks passed on to another one are committed in the order of the stream. Only then are the
 * positions of providers exact, and not later than necessary.
 */
export class OrderWatch implements Writer {
  readonly #writer: Writer
  #before: Coverage | null = null
  #isInOrder = true

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /** Whether all blocks so far were in order. */
  get isInOrder(): boolean {
    return this.#isInOrder
  }

  coverage(): Promise<Coverage | null> {
    return this.#writer.coverage()
  }

  async commit(batch: Batch, coverage: Coverage): Promise<GainedRows> {
    const gained = await this.#writer.commit(batch, coverage)
    const before = this.#before
    if (before !== null) {
      const added = without(wholeBlocks(coverage), wholeBlocks(before))
      if (added.some(({ from }) => from <= before.height)) this.#isInOrder = false
    }
    this.#before = coverage
    return gained
  }

  buildSeries(which: 'due' | 'all', signal?: AbortSignal): Promise<void> {
    return this.#writer.buildSeries(which, signal)
  }

  close(): Promise<void> {
    return this.#writer.close()
  }
}

const wholeBlocks = ({ first, height, gaps }: Coverage) => without([{ from: first, to: height }], gaps)

/**
 * Compares the positions of providers with those that follow from the event files. An earlier position is a fault: a
 * follower that comes from another store misses the row's last change. A later position is harmless, and means that blocks
 * arrived in another order. As a position depends on all earlier blocks, only positions below the first block that one side
 * does not have are compared.
 */
export async function checkPositions(
  { store, files }: Reading,
  compared: Compared,
  { problems, notes }: StoreCheck,
  signal: AbortSignal,
): Promise<void> {
  const expected = new Map(
    (await allRows(files, PROVIDERS, {}, signal)).map((row) => {
      const named = namedRow(PROVIDERS, row)
      return [keyText(named), positionOfRow(named)]
    }),
  )
  const oldHeight = await readOldHeight(store)
  const end = endOfCommonBlocks(compared)
  let old = 0
  for await (const rows of walkTable(store, PROVIDERS, {}, signal)) {
    for (const row of rows) {
      const named = namedRow(PROVIDERS, row)
      const position = positionOfRow(named)
      const other = expected.get(keyText(named))
      if (other === undefined || !compared.sameLists.has(named.market_id!)) continue
      if (!isBefore(position, other) || (end !== null && other.height >= end)) continue
      if (other.height <= oldHeight) old++
      else {
        problems.add(
          describeRow(PROVIDERS, row),
          `its position, block ${position.height}, event ${position.index}, is before that of its last change in the files, ` +
            `block ${other.height}, event ${other.index}`,
        )
      }
    }
  }
  if (old === 0) return
  notes.push(
    `${count(old)} liquidity providers have positions of an earlier version of Lyra, which are before their last changes: ` +
      'streams that are continued here from another store may miss these; a position is right again once the ' +
      "provider's figures change; to have all right, ingest the event files into a new store",
  )
}

const keyText = ({ market_id, party_id }: NamedRow) => `${market_id} ${party_id}`

/** The height up to which older versions have written positions; 0 if none has. */
async function readOldHeight(store: TableReader): Promise<bigint> {
  const rows = (await allRows(store, OLD_POSITIONS)).map((row) => namedRow(OLD_POSITIONS, row))
  return BigInt(rows.find(({ resource }) => resource === NAME_OF.get(PROVIDERS.name))?.height ?? 0)
}

/** The first block that one of the two does not have completely, with its events; null if there is none. */
function endOfCommonBlocks({ store, files }: Compared): bigint | null {
  const incomplete: HeightRange[] = [...store.gaps, ...files.gaps].filter(({ kind }) => kind === 'incomplete')
  const differing = [
    ...without(store.heights, files.fromEvents),
    ...without(files.heights, store.fromEvents),
    ...incomplete,
  ]
  return differing.reduce<bigint | null>(
    (least, { from }) => (least === null || from < least ? from : least),
    null,
  )
}

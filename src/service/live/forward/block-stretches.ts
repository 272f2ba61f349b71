import { merged } from '#core/domain/coverage'
import { type BeginBlock, decodeBeginBlock } from '#core/events/block-events'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { countIds, IdSequence } from '#core/events/event-ids'
import { RECORD_HEADER_BYTES, type RecordSink } from '#core/records/record-framer'

/** A part of a file: `[start, end)`. */
type FileRange = { file: number; start: number; end: number }

/**
 * A part of a file with only complete blocks of consecutive heights. A block that spans two files is in two stretches.
 */
export type Stretch = FileRange & {
  first: BeginBlock
  last: BeginBlock
  /** Whether `first` begins in the stretch before. */
  beginsBefore: boolean
}

/** Consecutive stretches that hold whole blocks of consecutive heights, `from` and `to` among them. */
export type BlockRun = { from: bigint; to: bigint; stretches: Stretch[] }

/** Whether a block comes next after another one. Block 1 comes twice, with two hashes. */
export function isNext(next: BeginBlock, previous: BeginBlock): boolean {
  if (next.height === previous.height + 1n) return true
  return next.height === 1n && previous.height === 1n && next.hash !== previous.hash
}

/**
 * Where a new connection begins: at the lowest gapless heights with blocks after `passedUpTo` (null: not known), otherwise
 * at the highest ones; and the greatest height before that gap (null without a gap). Null if there is no block.
 */
export function startOfRuns(
  runs: readonly BlockRun[],
  passedUpTo: bigint | null,
): { first: bigint; beforeHole: bigint | null } | null {
  const gapless = merged(runs)
  const start = gapless.find(({ to }) => passedUpTo === null || to > passedUpTo) ?? gapless.at(-1)
  if (start === undefined) return null
  return { first: start.from, beforeHole: gapless[gapless.indexOf(start) - 1]?.to ?? null }
}

/**
 * Finds out which parts of files are whole blocks, from their records in order. Events outside blocks are in no stretch: a
 * restarted core sends hundreds with the height of its snapshot, behind which a data node accepts nothing.
 */
export function createBlockStretches() {
  const all: Stretch[] = []
  const envelope = createEnvelope()
  let open: { block: BeginBlock; parts: FileRange[]; ids: IdSequence } | null = null

  /** Takes the next record of a file, as a sink of {@link RecordFramer}. */
  function sinkOf(file: number): RecordSink {
    return (bytes, start, end, { offset }) => {
      readEnvelope(bytes, start, end, envelope)
      const part = { file, start: offset, end: offset + (end - start) + RECORD_HEADER_BYTES }
      const [height, index] = numbersOf(bytes, envelope.idStart, envelope.idEnd)
      if (envelope.kind === EVENT_KIND.beginBlock) {
        open = { block: decodeBeginBlock(envelope), parts: [], ids: new IdSequence() }
      }
      if (open === null) return
      const { block, parts, ids } = open
      // A block without some of its events is not whole.
      if (height !== block.height || index === null || ids.isTaken(index) || index > ids.next) {
        open = null
        return
      }
      ids.take(index, countIds(envelope))
      extend(parts, part)
      if (envelope.kind === EVENT_KIND.endBlock) endBlock(block, parts)
    }
  }

  /** Forgets a file that is gone. */
  function drop(file: number): void {
    const rest = all.filter((stretch) => stretch.file !== file)
    all.splice(0, all.length, ...rest)
    if (open?.parts.some((part) => part.file === file)) open = null
  }

  /** The blocks in order of their arrival. */
  function runs(): BlockRun[] {
    const runs: BlockRun[] = []
    for (const stretch of all) {
      const { first, last, beginsBefore } = stretch
      const run = runs.at(-1)
      const previous = run?.stretches.at(-1)?.last
      if (previous !== undefined && (beginsBefore ? first === previous : isNext(first, previous))) {
        run!.stretches.push(stretch)
        run!.to = last.height
        continue
      }
      // The file in which the first block begins may be gone.
      const from = beginsBefore ? first.height + 1n : first.height
      if (from <= last.height) runs.push({ from, to: last.height, stretches: [stretch] })
    }
    return runs
  }

  function endBlock(block: BeginBlock, parts: FileRange[]): void {
    for (const [index, part] of parts.entries()) add(part, block, index > 0)
    open = null
  }

  /** `isRest`: the block has begun in the stretch before. */
  function add(part: FileRange, block: BeginBlock, isRest: boolean): void {
    const last = all.at(-1)
    if (last?.file === part.file && last.end === part.start && (isRest || isNext(block, last.last))) {
      last.end = part.end
      last.last = block
    } else {
      all.push({ ...part, first: block, last: block, beginsBefore: isRest })
    }
  }

  return { all, sinkOf, drop, runs }
}

function extend(parts: FileRange[], part: FileRange): void {
  const last = parts.at(-1)
  if (last?.file === part.file && last.end === part.start) last.end = part.end
  else parts.push(part)
}

/** Height and index of an event's id; null if it is none. */
function numbersOf(bytes: Buffer, start: number, end: number): [height: bigint | null, index: number | null] {
  const digits = /^(\d{1,19})-(\d{1,9})$/.exec(bytes.toString('latin1', start, Math.min(end, start + 32)))
  return digits === null ? [null, null] : [BigInt(digits[1]!), Number(digits[2])]
}

import { type BeginBlock, decodeBeginBlock } from '../../events/block-events.ts'
import { createEnvelope, EVENT_KIND, readEnvelope } from '../../events/bus-event.ts'
import { RECORD_HEADER_BYTES, type RecordSink } from '../../records/record-framer.ts'

/** A part of a file: `[start, end)`. */
type Part = { file: number; start: number; end: number }

/**
 * A part of a file that holds nothing but whole blocks of rising heights, and the events that stand between two of
 * them. A block that lies in two files is in two stretches.
 */
export type Stretch = Part & {
  first: BeginBlock
  last: BeginBlock
  /** The first block's height, where the core has gone back to it from a later block; else null. */
  backTo: bigint | null
}

/** Whether a block may come after another one in one connection. Block 1 comes twice, with two hashes. */
export function follows(next: BeginBlock, previous: BeginBlock | null): boolean {
  if (previous === null || next.height > previous.height) return true
  return next.height === 1n && previous.height === 1n && next.hash !== previous.hash
}

/** Finds out which parts of files are whole blocks, from their records in order. */
export class BlockStretches {
  readonly all: Stretch[] = []
  readonly #envelope = createEnvelope()
  #open: { block: BeginBlock; parts: Part[] } | null = null
  /** The last block that has ended, as long as what follows it may be of no block. */
  #ended: BeginBlock | null = null

  /** Takes the next record of a file, as a sink of {@link RecordFramer}. */
  sinkOf(file: number): RecordSink {
    return (bytes, start, end, { offset }) => {
      const envelope = this.#envelope
      readEnvelope(bytes, start, end, envelope)
      const part = { file, start: offset, end: offset + (end - start) + RECORD_HEADER_BYTES }
      if (envelope.kind === EVENT_KIND.beginBlock) {
        this.#open = { block: decodeBeginBlock(envelope), parts: [part] }
        this.#ended = null
      } else if (this.#open !== null) {
        extend(this.#open.parts, part)
        if (envelope.kind === EVENT_KIND.endBlock) this.#endBlock(this.#open)
      } else if (this.#ended !== null) {
        // The rest of a block whose beginning another connection had is not between blocks.
        const isBetween = heightInId(bytes, envelope.idStart, envelope.idEnd) === this.#ended.height
        if (isBetween) this.#add(part, this.#ended, null)
        else this.#ended = null
      }
    }
  }

  /** Forgets a file that is gone. */
  drop(file: number): void {
    const rest = this.all.filter((stretch) => stretch.file !== file)
    this.all.splice(0, this.all.length, ...rest)
    if (this.#open?.parts.some((part) => part.file === file)) this.#open = null
  }

  #endBlock({ block, parts }: { block: BeginBlock; parts: Part[] }): void {
    const previous = this.all.at(-1)?.last ?? null
    let backTo = follows(block, previous) ? null : block.height
    for (const part of parts) {
      this.#add(part, block, backTo)
      backTo = null
    }
    this.#open = null
    this.#ended = block
  }

  #add(part: Part, block: BeginBlock, backTo: bigint | null): void {
    const last = this.all.at(-1)
    if (last !== undefined && backTo === null && last.file === part.file && last.end === part.start) {
      last.end = part.end
      last.last = block
    } else {
      this.all.push({ ...part, first: block, last: block, backTo })
    }
  }
}

function extend(parts: Part[], part: Part): void {
  const last = parts.at(-1)!
  if (last.file === part.file && last.end === part.start) last.end = part.end
  else parts.push(part)
}

/** The height that an event's id begins with; null where it begins with none. */
function heightInId(bytes: Buffer, start: number, end: number): bigint | null {
  const digits = /^\d{1,19}(?=-)/.exec(bytes.toString('latin1', start, Math.min(end, start + 20)))
  return digits === null ? null : BigInt(digits[0])
}

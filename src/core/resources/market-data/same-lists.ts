import type { MarketDataEvent } from '../../events/event.ts'
import { WireReader } from '../../events/wire-reader.ts'
import type { CopiedBytes } from './copied-bytes.ts'
import { FEE_SHARE, ReceivedMarketData, SLA } from './decode.ts'

/** An element of either list, `bytes[start..end)` of its message. */
type Element = { tag: number; start: number; end: number }

const oneReader = new WireReader()
const otherReader = new WireReader()

/**
 * Whether the lists of two market data consist of the same bytes, which costs much less than decoding them. False does not
 * mean that the lists differ.
 */
export function haveSameListBytes(one: MarketDataEvent, other: MarketDataEvent): boolean {
  if (!(one instanceof ReceivedMarketData && other instanceof ReceivedMarketData)) return false
  moveTo(oneReader, one.body)
  moveTo(otherReader, other.body)
  for (;;) {
    const element = nextElement(oneReader)
    const otherElement = nextElement(otherReader)
    if (element === null || otherElement === null) return element === otherElement
    if (!isSame(element, otherElement)) return false
  }
}

function moveTo(reader: WireReader, { bytes, start, end }: CopiedBytes): void {
  reader.reset(bytes, start, end)
}

/** The next element of either list; null after the last one. The message was checked when it was received. */
function nextElement(reader: WireReader): Element | null {
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === FEE_SHARE || tag === SLA) {
      const end = reader.fieldEnd()
      const start = reader.at
      reader.at = end
      return { tag, start, end }
    }
    reader.skip(tag)
  }
  return null
}

function isSame(element: Element, other: Element): boolean {
  if (element.tag !== other.tag) return false
  const { bytes } = oneReader
  return bytes.compare(otherReader.bytes, other.start, other.end, element.start, element.end) === 0
}

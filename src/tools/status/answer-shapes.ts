import { isFlag, isInteger, isListOf, isNumber, isObject, isText, orNone, orNull } from '#core/domain/shapes'
import { RESOURCES } from '#core/resources/resources'

/* The shapes of a service's answers, as far as they are used: another program, or another version, may answer. */

const RANGE = { from: isInteger, to: isInteger }

/** The live ingestion in `/ready`. */
export const isLive = isObject({
  coreConnected: isFlag,
  eventsReceived: isNumber,
  bufferBytes: isNumber,
  stopped: isFlag,
  connectionFaults: isListOf(isObject({ reason: isText, count: isNumber })),
})

/** The forwarding in `/ready`. */
export const isForward = isObject({
  height: orNull(isText),
  failure: orNull(isText),
  lagBytes: isNumber,
  lagBlocks: isNumber,
  lagSeconds: isNumber,
  missingBlocks: orNone(isObject(RANGE)),
})

/** The network's upgrade in `/ready`. */
export const isUpgrade = isObject({
  height: isInteger,
  answered: isFlag,
  waitingFor: orNull(isText),
})

/** The counted rows of a resource, or of one of its markets. */
const areCounted = isObject({
  marketId: orNone(isText),
  count: isInteger,
  atBlock: orNone(isInteger),
  firstTimestamp: orNone(isInteger),
  lastTimestamp: orNone(isInteger),
})

/** A coverage, as far as its users need it. */
export const isCoverage = isObject({
  chainId: isText,
  blocks: isObject({
    ranges: isListOf(isObject(RANGE)),
    gaps: isListOf(isObject({ ...RANGE, kind: isText })),
    imported: isListOf(isObject({ ...RANGE, lacks: orNone(isListOf(isText)) })),
    lastTimestamp: isInteger,
  }),
  since: orNone(isListOf(isObject({ resource: isText, height: isInteger }))),
  next: orNull(isText),
  prunedBefore: orNone(isObject({ timestamp: orNone(isInteger), height: orNone(isInteger) })),
  ...Object.fromEntries(
    RESOURCES.map(({ name }) => [name, (counts: unknown) => [counts ?? []].flat().every(areCounted)]),
  ),
})

/** A value as a list; an empty one if it is none. */
export const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

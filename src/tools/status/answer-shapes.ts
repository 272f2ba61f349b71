import { RESOURCES } from '#core/resources/resources'

/* The shapes of a service's answers, as far as they are used: another program, or another version, may answer. */

/** Whether a value has a certain shape. */
type Shape = (value: unknown) => boolean

/** A text. */
export const isText = (value: unknown) => typeof value === 'string'
const isFlag = (value: unknown) => typeof value === 'boolean'
const isNumber = (value: unknown) => Number.isFinite(value)
/** An integer as text. */
const isInteger = (value: unknown) => typeof value === 'string' && /^-?\d{1,20}$/.test(value)
const orNull = (shape: Shape) => (value: unknown) => value === null || shape(value)
/** Null, absent, or of a shape. */
export const orNone = (shape: Shape) => (value: unknown) => value == null || shape(value)
const isListOf = (shape: Shape) => (value: unknown) => Array.isArray(value) && value.every(shape)
const isObject = (shapes: Record<string, Shape>) => (value: unknown) =>
  Object.entries(shapes).every(([name, shape]) => shape(objectIn(value)[name]))

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
const isCount = isObject({
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
    RESOURCES.map(({ name }) => [name, (counts: unknown) => [counts ?? []].flat().every(isCount)]),
  ),
})

/** A value as an object; an empty one if it is none. */
export const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** A value as a list; an empty one if it is none. */
export const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

import { type Answer, createConnection } from '#client/connection'
import { LyraApiError, LyraConnectionError } from '#client/errors'
import { PlainError } from '#core/domain/plain-error'
import { RESOURCES } from '#core/resources/resources'
import type { StateReport } from '#service/health/readiness'
import type { CoverageBody } from '#service/questions/coverage-body'
import { COVERAGE_PATH } from '#service/questions/coverage-body'
import { lastBlock, type ServiceStatus, type StatusReport } from './status.ts'

const TIMEOUT_MS = 10_000

/** More than any answer of a service, and than all parts of a coverage together. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** A service that does not answer, or is not Lyra. */
export class ServiceError extends PlainError {
  override name = 'ServiceError'
}

/**
 * Requests the state of a running service.
 *
 * @param address its address, `http://127.0.0.1:3008`; a path before the service's own paths may follow
 *
 * @throws {ServiceError} if it is unreachable, or is not Lyra.
 */
export async function statusOfService(address: string): Promise<StatusReport> {
  const base = address.replace(/\/+$/, '')
  // No retries: the user wants an answer now, even from a service that hangs.
  const ask = serviceAt(base, 0)
  const ready = await ask('/ready', [200, 503])
  const { status, reasons, live, upgrade, forward, cluster } = readinessIn(base, ready)
  // The status is 503 while the store is empty or cannot be read, which /ready reports.
  const answer = await ask(COVERAGE_PATH, [200, 503])
  const coverage = answer.status === 200 ? await wholeCoverage(base, ask, answer) : null
  const height = answer.headers.get('x-block-height')
  return {
    of: base,
    lastBlock: coverage === null || height === null ? null : lastBlock(height, coverage.blocks.lastTimestamp),
    coverage,
    store: null,
    service: {
      ready: status === 'ready',
      reasons,
      live,
      upgrade,
      forward,
      cluster,
    },
  }
}

type ReadinessBody = { status: string } & Pick<
  ServiceStatus,
  'reasons' | 'live' | 'upgrade' | 'forward' | 'cluster'
>

/** The answer of `/ready`, with those of its parts that have the expected shape. */
function readinessIn(base: string, answer: Answer): ReadinessBody {
  const body = objectIn(parsedAnswer(base, answer))
  // Services before version 0.3.0 report neither live ingestion nor upgrades here.
  const { status, reasons, live = null, protocolUpgrade: upgrade = null, forward = null, cluster } = body
  const isAsExpected = orNone(isLive)(live) && orNone(isForward)(forward) && orNone(isUpgrade)(upgrade)
  if (!isText(status) || !isAsExpected)
    throw new ServiceError(`${base}/ready: not a response of a Lyra service of this version`)
  return {
    status,
    reasons: listIn(reasons)
      .map(objectIn)
      .map(({ reason, message }) => ({
        reason: String(reason),
        message: String(message),
      })),
    live: live === null ? null : withFaultsByReason(live as NonNullable<StateReport['live']>),
    upgrade: upgrade as ReadinessBody['upgrade'],
    forward: forward as ReadinessBody['forward'],
    cluster: listIn(cluster).map(String),
  }
}

function withFaultsByReason(live: NonNullable<StateReport['live']>): ReadinessBody['live'] {
  const faults = live.connectionFaults.map(({ reason, count }) => [reason, count])
  return { ...live, connectionFaults: Object.fromEntries(faults) }
}

/** The lists of a coverage, by resource. */
type CoverageLists = Record<string, unknown>

/**
 * A service's whole coverage, of which `first` is the first part; the others are requested.
 *
 * @throws {ServiceError} for an answer of another shape, and for too many parts.
 */
export async function wholeCoverage(
  base: string,
  ask: Ask,
  answer: Answer,
  signal?: AbortSignal,
): Promise<CoverageBody['coverage']> {
  const first = coverageIn(base, answer)
  const { blocks } = first
  let { next } = first
  let bytes = answer.text.length
  while (next !== null) {
    const further = await ask(`${COVERAGE_PATH}?after=${encodeURIComponent(next)}`, [200], signal)
    bytes += further.text.length
    if (bytes > MAX_ANSWER_BYTES)
      throw new ServiceError(`${base}${COVERAGE_PATH}: the parts do not end: more than 64 MiB`)
    const coverage = coverageIn(base, further)
    if (coverage.next === next)
      throw new ServiceError(`${base}${COVERAGE_PATH}: the parts do not advance after ${next}`)
    for (const range of coverage.blocks.ranges) blocks.ranges.push(range)
    for (const gap of coverage.blocks.gaps) blocks.gaps.push(gap)
    for (const range of coverage.blocks.imported) blocks.imported.push(range)
    // Every part has, in each list by market, the rows of some markets.
    const [whole, part] = [first, coverage] as unknown as [CoverageLists, CoverageLists]
    for (const { name } of RESOURCES)
      if (Array.isArray(whole[name])) for (const row of listIn(part[name])) whole[name].push(row)
    next = coverage.next
  }
  // Older services do not send `since`.
  return { ...first, since: first.since ?? [], next: null }
}

/** The coverage in an answer, whose shape is checked as far as its users need it. */
function coverageIn(base: string, answer: Answer): CoverageBody['coverage'] {
  const { coverage } = (parsedAnswer<Partial<CoverageBody> | null>(base, answer) ?? {}) as CoverageBody
  if (isCoverage(coverage)) return coverage
  throw new ServiceError(`${base}${COVERAGE_PATH}: not a response of a Lyra service of this version`)
}

/** Whether a value has a certain shape. */
type Shape = (value: unknown) => boolean

const isText = (value: unknown) => typeof value === 'string'
const isFlag = (value: unknown) => typeof value === 'boolean'
const isNumber = (value: unknown) => Number.isFinite(value)
/** An integer as text. */
const isInteger = (value: unknown) => typeof value === 'string' && /^-?\d{1,20}$/.test(value)
const orNull = (shape: Shape) => (value: unknown) => value === null || shape(value)
const orNone = (shape: Shape) => (value: unknown) => value == null || shape(value)
const isListOf = (shape: Shape) => (value: unknown) => Array.isArray(value) && value.every(shape)
const isObject = (shapes: Record<string, Shape>) => (value: unknown) =>
  Object.entries(shapes).every(([name, shape]) => shape(objectIn(value)[name]))

const RANGE = { from: isInteger, to: isInteger }

const isLive = isObject({
  coreConnected: isFlag,
  eventsReceived: isNumber,
  bufferBytes: isNumber,
  stopped: isFlag,
  connectionFaults: isListOf(isObject({ reason: isText, count: isNumber })),
})

const isForward = isObject({
  height: orNull(isText),
  failure: orNull(isText),
  lagBytes: isNumber,
  lagBlocks: isNumber,
  lagSeconds: isNumber,
  missingBlocks: orNone(isObject(RANGE)),
})

const isUpgrade = isObject({
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

const isCoverage = isObject({
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

const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Requests a path of a service; `allowed` are the statuses that count as answers. */
type Ask = (path: string, allowed?: readonly number[], signal?: AbortSignal) => Promise<Answer>

/**
 * Creates the function that requests paths of a service. Requests are repeated a few times if that may help, or as often as
 * `retries` says.
 *
 * @throws {ServiceError} from the function: if the service is unreachable, redirects, answers with a status that is not
 *   allowed, or sends more than 64 MiB.
 */
export function serviceAt(base: string, retries?: number): Ask {
  const { get } = createConnection({ url: base, retries, timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES })
  return async (path, allowed = [200], signal) => {
    try {
      return await get(path, signal, allowed)
    } catch (error) {
      if (error instanceof LyraConnectionError) {
        const reason = reasonOf(error.cause as Error)
        const hint = reason === 'ECONNREFUSED' ? '; check the address, and that the service runs' : ''
        throw new ServiceError(`${base}: unreachable (${reason})${hint}`, { cause: error })
      }
      if (!(error instanceof LyraApiError)) throw error
      const { status } = error
      throw new ServiceError(
        status === 429
          ? `${base}: rate limit exceeded (429); raise its rate limit`
          : `${base}${path}: responds with status ${status}; check that this is a Lyra service of this version`,
        { cause: error },
      )
    }
  }
}

/** The message of an error's innermost cause, or its code. */
function reasonOf(error: Error & { code?: string }): string {
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  return error.cause instanceof Error ? reasonOf(error.cause) : (error.code ?? error.message)
}

/**
 * The JSON of an answer.
 *
 * @throws {ServiceError} if it is not JSON.
 */
export function parsedAnswer<T>(base: string, { text }: Answer): T {
  try {
    return JSON.parse(text) as T
  } catch {
    throw new ServiceError(`${base}: the response is not JSON, so this is not a Lyra service; check --url`)
  }
}

import type { Answer } from '#client/connection'
import { isText, objectIn, orNone } from '#core/domain/shapes'
import { RESOURCES } from '#core/resources/resources'
import type { StateReport } from '#service/health/readiness'
import type { CoverageBody } from '#service/questions/coverage-body'
import { COVERAGE_PATH } from '#service/questions/coverage-body'
import { isCoverage, isForward, isLive, isUpgrade, listIn } from './answer-shapes.ts'
import { type Ask, MAX_ANSWER_BYTES, parsedAnswer, ServiceError, serviceAt } from './ask-service.ts'
import { lastBlock, type ServiceStatus, type StatusReport } from './status.ts'

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
 * A service's whole coverage, of which `answer` has the first part; the others are requested.
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

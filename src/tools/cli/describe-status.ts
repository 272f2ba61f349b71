import { describeMissingResources } from '#core/domain/coverage'
import { describeDuration } from '#core/domain/duration'
import { describeBlocks } from '#core/domain/height-ranges'
import { printable } from '#core/domain/printable'
import { formatTime } from '#core/domain/time'
import { count } from '#core/domain/words'
import { wordsOf } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { describeCluster } from '#core/store/inspection'
import type { CoverageBody } from '#service/questions/coverage-body'
import type { ServiceStatus, StatusReport } from '../status/status.ts'
import { formatBytes } from './figures.ts'
import { table } from './table.ts'

/** Maximum number of gaps that are listed one by one. A stream may have as many as blocks. */
const SHOWN_GAPS = 20

/** What imported blocks do not have, in short (docs/import.md). */
const IMPORTED_MEANS =
  'without some points, all auctions, the order within a block, and times below a microsecond. ' +
  'If you have the event files, ingest them into a new store, then import the other blocks'

const timeText = (timestamp: string | null) => (timestamp === null ? '' : formatTime(BigInt(timestamp)))

/** The state of a store or service, as a table for people. */
export function describeStatus(report: StatusReport): string {
  const { store, service, coverage, lastBlock } = report
  const entries: [title: string, text: string][] = [[store === null ? 'service' : 'store', report.of]]
  if (store !== null) {
    const { bytes, schemaVersion, programSchemaVersion, hasWriter, writer } = store
    entries.push(['size', formatBytes(bytes)])
    const outdated = schemaVersion === programSchemaVersion ? '' : '; run lyra migrate'
    entries.push(['schema', `version ${schemaVersion} of ${programSchemaVersion}${outdated}`])
    const named = writer === null ? 'another process' : `process ${writer.process} on ${writer.host}`
    const holder = hasWriter ? printable(named) : 'none'
    entries.push(['writer', hasWriter === null ? 'not known' : holder])
    const faults = store.cluster === undefined ? [] : describeCluster(store.cluster, { withAddresses: true })
    entries.push(...faults.map((fault): [string, string] => ['cluster', printable(fault)]))
  }
  if (service !== null) entries.push(...describeService(service))
  if (coverage === null || lastBlock === null) {
    const isUnknown = (store?.cluster?.workersDown.length ?? 0) > 0
    if (isUnknown) entries.push(['blocks', 'unknown while a worker is unreachable'])
    else if (service !== null && !service.reasons.some(({ reason }) => reason === 'empty store'))
      entries.push(['blocks', 'unknown while the store cannot be read'])
    else if (store === null || store.schemaVersion === store.programSchemaVersion)
      entries.push(['blocks', 'none'])
    return table(entries).join('\n')
  }
  entries.push(['chain', printable(coverage.chainId)])
  const age = `${describeDuration(lastBlock.ageSeconds)} old`
  entries.push(['last block', `${lastBlock.height}, ${timeText(lastBlock.timestamp)}, ${age}`])
  const { blocks, since, prunedBefore } = coverage
  entries.push(['whole blocks', blocks.ranges.length === 0 ? 'none' : describeBlockRanges(blocks.ranges)])
  if (blocks.imported.length > 0) {
    entries.push(['imported blocks', describeBlockRanges(blocks.imported)], ['', IMPORTED_MEANS])
  }
  entries.push(...gapEntries(blocks.gaps), ...describeMissingResources({ since, imported: blocks.imported }))
  if (prunedBefore?.timestamp) entries.push(['pruned', `before ${timeText(prunedBefore.timestamp)}`])
  if (prunedBefore?.height) entries.push(['pruned', `before block ${prunedBefore.height}`])
  return [...table(entries), '', ...describeRows(coverage)].join('\n')
}

function describeService(service: ServiceStatus): [string, string][] {
  const { ready, reasons, live, upgrade, forward, cluster } = service
  const entries: [string, string][] = [['ready', ready ? 'yes' : 'no']]
  for (const { reason, message } of reasons) entries.push(['', printable(`${reason}: ${message}`)])
  for (const fault of cluster) entries.push(['cluster', printable(fault)])
  if (live === null) return entries
  const { coreConnected, eventsReceived, bufferBytes, stopped, connectionFaults } = live
  const parts = [
    coreConnected ? 'core connected' : 'no core connected',
    `${count(eventsReceived)} events received`,
    `${formatBytes(bufferBytes)} not stored yet`,
    ...(stopped ? ['stopped'] : []),
    ...Object.entries(connectionFaults).map(([reason, times]) => `${reason}: ${times} times`),
  ]
  entries.push(['live ingestion', parts.join(', ')])
  if (upgrade !== null) entries.push(['upgrade', describeUpgrade(upgrade)])
  if (forward) entries.push(['forwarding', describeForward(forward)])
  return entries
}

/** What is said of an upgrade in which the core no longer waits for an answer. */
export function describeAnsweredUpgrade(height: string): string {
  return `after block ${height}: the core is answered, and goes on once the network has upgraded`
}

function describeUpgrade({ height, answered, waitingFor }: NonNullable<ServiceStatus['upgrade']>): string {
  if (answered) return describeAnsweredUpgrade(height)
  return printable(waitingFor ?? `after block ${height}: the core waits to be answered`)
}

function describeForward(forward: NonNullable<ServiceStatus['forward']>): string {
  const { connected, height, lagBytes, lagBlocks, lagSeconds, missingBlocks, failure } = forward
  const parts = [
    connected ? 'receiver connected' : 'receiver not connected',
    height === null ? 'nothing forwarded' : `forwarded up to block ${height}`,
    lagBytes === 0
      ? 'nothing waits'
      : `${formatBytes(lagBytes)} wait: ${count(lagBlocks)} blocks, ${describeDuration(lagSeconds)}`,
    // A service of version 0.2.0 does not report them.
    ...(missingBlocks
      ? [
          `${describeBlocks(missingBlocks)} missing: the receiver must get them from another source, or from the core restarted from a snapshot before block ${missingBlocks.from}`,
        ]
      : []),
    ...(failure === null ? [] : [failure]),
  ]
  return printable(parts.join(', '))
}

function describeBlockRanges(ranges: CoverageBody['coverage']['blocks']['ranges']): string {
  const shown = ranges.slice(0, SHOWN_GAPS + 1).map(({ from, to }) => `${from} to ${to}`)
  return [...shown, ...(shown.length < ranges.length ? ['...'] : [])].join(', ')
}

function gapEntries(gaps: CoverageBody['coverage']['blocks']['gaps']): [string, string][] {
  if (gaps.length === 0) return [['gaps', 'none']]
  const shown = gaps
    .slice(0, SHOWN_GAPS)
    .map((gap): [string, string] => ['gap', `${describeBlocks(gap)} ${gap.kind}`])
  return gaps.length <= SHOWN_GAPS ? shown : [...shown, ['', `and ${gaps.length - SHOWN_GAPS} more gaps`]]
}

/** The part of a coverage for a resource or one of its markets: numbers and times as text. */
type ReportedRows = {
  marketId?: string
  count: string
  firstTimestamp?: string | null
  lastTimestamp?: string | null
  atBlock?: string
}

/** The rows of each resource, by market if the coverage has them by market. */
function describeRows(coverage: CoverageBody['coverage']): string[] {
  const rows = [['resource', 'market', 'rows', 'first', 'last']]
  for (const resource of RESOURCES) {
    // A service of another version may not have it.
    const reported = (coverage as unknown as Record<string, ReportedRows | ReportedRows[] | undefined>)[
      resource.name
    ]
    for (const ofMarket of [reported ?? []].flat()) {
      const { marketId = '', count: number, firstTimestamp = null, lastTimestamp = null, atBlock } = ofMarket
      const last = atBlock === undefined ? timeText(lastTimestamp) : `block ${atBlock}`
      rows.push([wordsOf(resource), marketId, count(BigInt(number)), timeText(firstTimestamp), last])
    }
  }
  return table(rows, [2])
}

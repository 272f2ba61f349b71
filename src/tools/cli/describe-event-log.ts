import { describeDuration } from '#core/domain/duration'
import { printable } from '#core/domain/printable'
import type { EventLogReader, EventLogStatus } from '../status/event-log-status.ts'
import { describeAnsweredUpgrade } from './describe-status.ts'
import { formatBytes } from './figures.ts'
import { table } from './table.ts'

/** Maximum number of ranges of blocks that are listed. */
const SHOWN_RANGES = 20

/** The state of an event log, as a table for people. */
export function describeEventLog({
  of,
  chainId,
  bytes,
  ranges,
  receiver,
  upgrade,
  readers,
}: EventLogStatus): string {
  const shown = ranges.slice(0, SHOWN_RANGES).map(({ from, to }) => `${from} to ${to}`)
  const blocks = [...shown, ...(shown.length < ranges.length ? ['...'] : [])].join(', ')
  const entries: [title: string, text: string][] = [
    ['event log', of],
    ['chain', chainId === null ? 'not known' : printable(chainId)],
    ['size', formatBytes(bytes)],
    ['whole blocks', blocks === '' ? 'none' : blocks],
    ['receiver', describeReceiver(receiver)],
    ...(upgrade === null ? [] : [['upgrade', printable(describeUpgrade(upgrade))] as [string, string]]),
    ...readers.map((reader): [string, string] => ['reader', printable(describeReader(reader))]),
  ]
  return table(entries).join('\n')
}

function describeReceiver(receiver: EventLogStatus['receiver']): string {
  if (receiver === null) return 'none has been there'
  const { isSilent, seconds, coreConnected, failures } = receiver
  if (isSilent) return `has ended, or hangs: silent for ${describeDuration(seconds)}`
  return printable([coreConnected ? 'core connected' : 'no core connected', ...failures].join(', '))
}

function describeUpgrade({ height, waitingFor }: NonNullable<EventLogStatus['upgrade']>): string {
  return waitingFor ?? describeAnsweredUpgrade(height)
}

function describeReader({ name, kind, height, behindSeconds }: EventLogReader): string {
  const parts = [
    `${name}, a ${kind}`,
    height === null ? 'has no block yet' : `has blocks up to ${height}`,
    ...(behindSeconds === null ? [] : [`${describeDuration(behindSeconds)} behind the log`]),
  ]
  return parts.join(', ')
}

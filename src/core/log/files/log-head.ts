import { PlainError } from '../../domain/plain-error.ts'
import { isCount, isHeight, isObject, isText, orNull, parseJson } from '../../domain/shapes.ts'
import { type LogDisk, replaceFileDurably } from './log-disk.ts'

export const HEAD_NAME = 'head.json'
const HEAD_VERSION = 1

/** The protocol upgrade that a core waits in: its last block, and ProtocolUpgradeStarted as the core sent it. */
export type PendingUpgrade = { height: bigint; event: Buffer }

/**
 * How far the newest segment may be read. Everything before `bytes` is on disk, and stays unless a loss of power takes back this
 * head; what follows belongs to the writer alone.
 */
export type LogHead = {
  /** Null until the log has a whole block. */
  chainId: string | null
  /** The number of the segment that is written to, or else of the next one. */
  number: number
  /** The blocks of that segment that have ended; null before the first. */
  first: bigint | null
  last: bigint | null
  /** The committed length. */
  bytes: number
  /** Time of the log's last block, Unix nanoseconds; null before the first. */
  time: bigint | null
  /** Null unless the core has announced a protocol upgrade, after which no block has ended yet. */
  upgrade: PendingUpgrade | null
}

/** Thrown for a log that a newer version of Lyra has written. */
export class NewerLogError extends PlainError {
  override name = 'NewerLogError'
}

/**
 * Reads the head of a log; null if there is none, or it is damaged.
 *
 * @throws {NewerLogError} for a head of a later version.
 */
export function readHead(disk: LogDisk, folder: string): LogHead | null {
  const text = disk.readText(`${folder}/${HEAD_NAME}`)
  return text === null ? null : parseHead(text, folder)
}

/** Why a log without a readable head has one all the same, for operators; null if there is none. */
export function describeHeadFault(disk: LogDisk, folder: string): string | null {
  const path = `${folder}/${HEAD_NAME}`
  if (disk.stat(path) === null) return null
  return disk.readText(path) === null ? `its ${HEAD_NAME} may not be read` : `its ${HEAD_NAME} is damaged`
}

const isHead = isObject({
  version: (version) => version === HEAD_VERSION,
  chain: orNull(isText),
  number: isCount,
  first: orNull(isHeight),
  last: orNull(isHeight),
  bytes: isCount,
  time: orNull(isHeight),
})

/**
 * The head in a text; null if that is none.
 *
 * @param log names the log in the error
 *
 * @throws {NewerLogError} for a head of a later version.
 */
export function parseHead(text: string, log: string): LogHead | null {
  const value: Record<string, unknown> = Object(parseJson(text))
  const { version, chain, number, first, last, bytes, time, upgrade } = value
  if (typeof version === 'number' && version > HEAD_VERSION) {
    throw new NewerLogError(
      `${log}: the event log has version ${version}, this program reads version ${HEAD_VERSION}: use the Lyra that wrote it`,
    )
  }
  if (!isHead(value)) return null
  return {
    chainId: chain as string | null,
    number: number as number,
    first: toHeight(first),
    last: toHeight(last),
    bytes: bytes as number,
    time: toHeight(time),
    upgrade: parseUpgrade(upgrade),
  }
}

/** Whether a head is that of an earlier state of its log than the last one, or of another log. */
export function isEarlierHead(head: LogHead, last: LogHead): boolean {
  if (head.number !== last.number) return head.number < last.number
  return head.bytes < last.bytes || (last.first !== null && head.first !== last.first)
}

/** Replaces the head of a log, durably. */
export function writeHead(disk: LogDisk, folder: string, head: LogHead): Promise<void> {
  const { chainId, number, first, last, bytes, time, upgrade } = head
  const text = JSON.stringify({
    version: HEAD_VERSION,
    chain: chainId,
    number,
    first: first === null ? null : `${first}`,
    last: last === null ? null : `${last}`,
    bytes,
    time: time === null ? null : `${time}`,
    ...(upgrade !== null && {
      upgrade: { height: `${upgrade.height}`, event: upgrade.event.toString('base64') },
    }),
  })
  return replaceFileDurably(disk, folder, HEAD_NAME, text)
}

function toHeight(value: unknown): bigint | null {
  return value === null ? null : BigInt(value as string)
}

function parseUpgrade(value: unknown): PendingUpgrade | null {
  const { height, event } = Object(value ?? {}) as { height?: unknown; event?: unknown }
  if (!isHeight(height) || !isText(event)) return null
  return { height: BigInt(height), event: Buffer.from(event, 'base64') }
}

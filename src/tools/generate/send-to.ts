import { ConnectionError } from '#service/live/forward/dial-pair'
import { DialError } from './dial-error.ts'
import { GenerateOptionError } from './options.ts'
import { SendingCore, type SendOptions } from './sending-core.ts'
import type { SendBlock } from './sent-blocks.ts'

/**
 * Dials an address as a core does, and sends blocks there. The time from the first block to each later one is the
 * difference of their block times, divided by `speed`; blocks below `start` are sent at once. `produce` passes the blocks
 * on, and ends early if `signal` is aborted.
 *
 * @throws {DialError} if nothing listens there, if the connection is closed, or if the receiver does not get ready for an
 *   upgrade; also errors of `produce`
 * @throws {GenerateOptionError} if the stream does not contain the upgrade's block, or the one after it
 */
export async function sendTo(
  { host, port }: { host: string; port: number },
  options: SendOptions,
  signal: AbortSignal,
  produce: (send: SendBlock) => Promise<void>,
): Promise<void> {
  const core = new SendingCore({ host, port }, options, signal)
  try {
    await core.dial()
    await produce((block) => core.send(block))
    await core.end()
    if (options.upgrade !== undefined && !core.isUpgraded && !signal.aborted) {
      throw new GenerateOptionError(
        `--upgrade ${options.upgrade}: the recording has no such block, or none after it`,
      )
    }
  } catch (error) {
    if (signal.aborted) return
    if (!(error instanceof ConnectionError)) throw error
    throw new DialError(
      `--dial ${host}:${port}: ${error.message}; check that a service was started there with --listen; its log says if it has another core, or another chain in its store`,
    )
  }
}

import { connect, type Socket } from 'node:net'
import { callFrames, callHeaders, FLAG, FRAME, frame, PREFACE } from '../test/fixtures/requests/raw-http2.ts'
import type { LoadResult } from './load.ts'

const FRAME_HEAD_BYTES = 9

/** Half of the widest window of HTTP/2. */
const WIDE = [0x3f, 0xff, 0xff, 0xff]

/** Windows large enough for a whole run. */
const OPENING = Buffer.concat([
  PREFACE,
  frame(FRAME.settings, 0, 0, Buffer.from([0, 4, ...WIDE])),
  frame(FRAME.window, 0, 0, Buffer.from(WIDE)),
])

type CallLoad = {
  connections: number
  seconds: number
  /** `/datanode.api.v2.TradingDataService/ListCheckpoints` */
  path: string
  /** Gives the message of each call: the same again, or a new one. */
  nextMessage: () => Buffer
}

/**
 * Calls one at a time on each of some connections, by a client that reads only the heads of frames.
 *
 * @throws an error for an answer without a message: the call has failed.
 */
export async function measureCalls(
  port: number,
  { connections, seconds, path, nextMessage }: CallLoad,
): Promise<Pick<LoadResult, 'requests' | 'rate'>> {
  const headers = callHeaders(path)
  const startedAt = performance.now()
  const until = startedAt + seconds * 1000
  let requests = 0
  const keepBusy = () =>
    new Promise<void>((resolve, reject) => {
      const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject).once('close', () => resolve())
      socket.write(OPENING)
      let stream = 1
      const callAgain = () => {
        socket.write(callFrames(stream, headers, nextMessage()))
        stream += 2
      }
      let hasMessage = false
      const endCall = () => {
        requests++
        if (!hasMessage) {
          socket.destroy(new Error(`${path}: an answer without a message`))
          return
        }
        hasMessage = false
        if (performance.now() < until) callAgain()
        else socket.destroy()
      }
      /** The received part of a frame's head, and the bytes of its payload that are still missing. */
      let part: Buffer = Buffer.alloc(0)
      let left = 0
      socket.on('data', (chunk: Buffer) => {
        const bytes = part.length === 0 ? chunk : Buffer.concat([part, chunk])
        let at = left
        for (; at + FRAME_HEAD_BYTES <= bytes.length; at += FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3)) {
          const type = bytes[at + 3]
          if (type === FRAME.data) hasMessage = true
          if (type === FRAME.headers && (bytes[at + 4]! & FLAG.endStream) !== 0) endCall()
        }
        part = at < bytes.length ? bytes.subarray(at) : Buffer.alloc(0)
        left = Math.max(0, at - bytes.length)
      })
      callAgain()
    })
  await Promise.all(Array.from({ length: connections }, keepBusy))
  return { requests, rate: requests / ((performance.now() - startedAt) / 1000) }
}

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

/** More than Node's own backlog of 511, and no more than Linux allows by default (`net.core.somaxconn`). */
const CONNECTIONS = 1_000

/** Less than the second after which Linux repeats a first packet that it has dropped. */
const WAIT_MS = 700

test('A burst of connections is queued while the service is busy, and none has to be repeated', async (t) => {
  const worker = new Worker(new URL('../fixtures/programs/busy-server.ts', import.meta.url))
  t.after(() => worker.terminate())
  const [address] = (await once(worker, 'message')) as [string]
  worker.postMessage('wait')
  await delay(100)
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  let connected = 0
  for (let count = 0; count < CONNECTIONS; count++) {
    const socket = connect(Number(address.split(':').at(-1)), '127.0.0.1', () => connected++)
    socket.on('error', () => {})
    sockets.push(socket)
  }
  await delay(WAIT_MS)
  assert.equal(connected, CONNECTIONS)
})

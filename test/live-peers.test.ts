import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { send } from './fixtures/http.ts'
import { addressOf, corePortOf, startLyra, startProgram } from './fixtures/program.ts'
import { hasPython, PYTHON } from './fixtures/python.ts'
import { SAMPLE, skip } from './fixtures/shared.ts'
import { ANY_STORE_KIND, temporaryFolder } from './fixtures/stores.ts'

const SCRIPT = join(import.meta.dirname, 'live-peers/stream_events.py')

for (const kind of ANY_STORE_KIND) {
  test(`an existing library for the protocol streams a recording (${kind.name})`, async (t) => {
    if (!hasPython('pynng')) {
      return skip(t, 'pynng is not installed; LYRA_PYTHON may name a Python that has it')
    }
    const service = startLyra(t, [
      ...['serve', '--port', '0', '--store', kind.create(t), '--listen', '127.0.0.1:0'],
      ...['--buffer', temporaryFolder(t)],
    ])
    const base = await addressOf(service)
    const port = await corePortOf(service)
    const sender = startProgram(t, PYTHON, [SCRIPT, String(port), SAMPLE])
    let height = 0
    for (let waited = 0; height < 905 && waited < 20_000; waited += 50) {
      await sleep(50)
      height = Number((await send(base, '/api/v2/checkpoints')).headers['x-block-height'] ?? 0)
    }
    assert.equal(height, 905, service.output.stderr)
    assert.equal((await sender.outcome).code, 0, sender.output.stderr)
  })
}

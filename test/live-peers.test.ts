import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { startLive, untilHeight } from './fixtures/live.ts'
import { startProgram } from './fixtures/program.ts'
import { hasPython, PYTHON } from './fixtures/python.ts'
import { SAMPLE, skip } from './fixtures/shared.ts'
import { ANY_STORE_KIND, temporaryFolder } from './fixtures/stores.ts'

const SCRIPT = join(import.meta.dirname, 'live-peers/stream_events.py')

for (const kind of ANY_STORE_KIND) {
  test(`an existing library for the protocol streams a recording (${kind.name})`, async (t) => {
    if (!hasPython('pynng')) {
      return skip(t, 'pynng is not installed; LYRA_PYTHON may name a Python that has it')
    }
    const service = await startLive(t, kind.create(t), temporaryFolder(t))
    const sender = startProgram(t, PYTHON, [SCRIPT, String(service.corePort), SAMPLE])
    await untilHeight(service, 905)
    assert.equal((await sender.outcome).code, 0, sender.output.stderr)
  })
}

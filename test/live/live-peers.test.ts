import { join } from 'node:path'
import { test } from 'node:test'
import { startLive, untilHeight } from '../fixtures/services/live.ts'
import { ended, startProgram } from '../fixtures/services/program.ts'
import { PYTHON, skipsWithoutPython } from '../fixtures/services/python.ts'
import { SAMPLE } from '../fixtures/shared.ts'
import { ANY_STORE_KIND, temporaryFolder } from '../fixtures/stores/stores.ts'

const SCRIPT = join(import.meta.dirname, 'live-peers/stream_events.py')

for (const kind of ANY_STORE_KIND) {
  test(`an existing library for the protocol streams a recording (${kind.name})`, async (t) => {
    if (skipsWithoutPython(t, 'pynng')) return
    const service = await startLive(t, kind.create(t), temporaryFolder(t))
    const sender = startProgram(t, PYTHON, `${SCRIPT} ${service.corePort} ${SAMPLE}`)
    await untilHeight(service, 905)
    await ended(sender)
  })
}

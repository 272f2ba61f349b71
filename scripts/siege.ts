// `npm run siege`: besieges a service (docs/limits.md), and fails if it does not hold out. With --blocks (of
// history), --seconds, --scale (1: attacks of full size), --only (a pattern of attacks' names), --no-live, and
// --postgres (a PostgreSQL server that it starts).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { inScope } from '../test/fixtures/scope.ts'
import { siege } from '../test/fixtures/siege/siege.ts'
import { startPostgresServer } from '../test/fixtures/stores/postgres-server.ts'

const MAX_P99_MS = 500
const MAX_MEMORY_MB = 600

const { values } = parseArgs({
  options: {
    blocks: { type: 'string', default: '1700000' },
    seconds: { type: 'string', default: '300' },
    scale: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    live: { type: 'boolean', default: true },
    postgres: { type: 'boolean', default: false },
  },
  allowNegative: true,
})

const folder = mkdtempSync(join(tmpdir(), 'lyra-siege-'))
const server = values.postgres ? await startPostgresServer() : null
if (values.postgres && server === null) throw new Error('PostgreSQL is not installed')
try {
  await inScope(async (scope) => {
    const report = await siege(scope, folder, {
      ...(server && { store: server.url }),
      blocks: Number(values.blocks),
      seconds: Number(values.seconds),
      scale: Number(values.scale),
      only: values.only,
      attacksLiveSocket: values.live,
      onProgress: (line) => console.log(line),
    })
    const { p50, p99, longest, failures, rowsLost, rowsNotFollowed, attacks, ...counts } = report
    for (const [name, tally] of Object.entries(attacks)) console.log(`  ${name}: ${JSON.stringify(tally)}`)
    console.log(JSON.stringify(counts))
    console.log(`pages: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, longest ${longest.toFixed(1)} ms`)
    const faults = [
      ...failures.slice(0, 20).map((what) => `an honest request failed: ${what}`),
      ...(failures.length > 20 ? [`${failures.length} honest requests failed in all`] : []),
      ...rowsLost.map((what) => `not as a plain ingest: ${what}`),
      ...(rowsNotFollowed.length > 0
        ? [
            `${rowsNotFollowed.length} rows were not followed as they should be, such as ${rowsNotFollowed[0]}`,
          ]
        : []),
      ...(p99 <= MAX_P99_MS ? [] : [`p99 is ${Math.round(p99)} ms, allowed are ${MAX_P99_MS}`]),
      ...(counts.memoryMb <= MAX_MEMORY_MB
        ? []
        : [`the service took ${Math.round(counts.memoryMb)} MB, allowed are ${MAX_MEMORY_MB}`]),
    ]
    for (const fault of faults) console.log(fault)
    console.log(faults.length === 0 ? 'the service has held out' : 'the service has NOT held out')
    process.exitCode = faults.length === 0 ? 0 : 1
  })
} finally {
  server?.remove()
  rmSync(folder, { recursive: true, force: true })
}

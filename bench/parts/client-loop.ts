// A client that requests the same kind of long answer until it is stopped: pages of 5,000 rows from
// anywhere in a large store, or exports.
import { once } from 'node:events'
import { measureLoad } from '../load.ts'
import { openExport } from './export.ts'
import { pageTargets } from './page-targets.ts'

const [kind, base, points] = process.argv.slice(2) as ['pages' | 'exports', string, string]
const nextTarget = pageTargets(Number(points)).anywhere(5_000)
console.log('asking')
for (;;) {
  if (kind === 'exports') await once(openExport({ base }, Number(points)).resume(), 'close')
  else await measureLoad(base, { connections: 1, seconds: 1, nextTarget })
}

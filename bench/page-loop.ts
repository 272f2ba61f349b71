// A client that asks for 5,000 rows from anywhere in a large store, again and again, until it is stopped.
import { measureLoad } from './load.ts'
import { pageTargets } from './table-of-pages.ts'

const [base, points] = process.argv.slice(2) as [string, string]
const nextTarget = pageTargets(Number(points)).anywhere(5_000)
console.log('asking')
for (;;) {
  const { failures } = await measureLoad(base, { connections: 1, seconds: 1, nextTarget })
  if (failures > 0) throw new Error(`${failures} answers were no 200`)
}

// Reads the lines of an export of data points of a SQLite store between two times, and discards them.
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { findStore } from '#core/store/open-store'
import { exportLines } from '#service/formats/export-rows'

const [store, marketId, from, to] = process.argv.slice(2) as [string, string, string, string]
const reader = await (await findStore(store)).openReader()
const { lines, read, close } = await reader.openSnapshot()
const query = {
  resource: fundingPeriodDataPoints,
  selection: { marketId, from: BigInt(from), to: BigInt(to) },
  descending: false,
  cursor: null,
}
let rows = 0
const startedAt = performance.now()
for await (const { count } of exportLines(query, { lines: lines!, read })) rows += count
console.log(JSON.stringify({ rows, seconds: (performance.now() - startedAt) / 1_000 }))
await close()
await reader.close()

// Prints the markets of a SQLite store that any row names.
import { DatabaseSync } from 'node:sqlite'

const database = new DatabaseSync(process.argv[2]!, { readOnly: true })
const rows = database.prepare('select market_id from markets order by market').all()
console.log(JSON.stringify({ markets: rows.map((row) => row.market_id) }))

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLongTexts } from '#core/store/readings/long-texts'
import { TABLES } from '#core/store/tables'
import { checkStore } from '#tools/check/check-store'
import { runMeasured } from './fixtures/run-measured.ts'
import { storeOf } from './fixtures/service.ts'
import { recorded, SAMPLE } from './fixtures/shared.ts'
import { describeOn, openStore, runSql, STORE_KINDS } from './fixtures/stores.ts'

const MAX_MEMORY_BYTES = 250_000_000

/** A text of so many digits, in SQL. */
const longText = (kind: { name: string }, length: number) =>
  kind.name === 'sqlite' ? `replace(hex(zeroblob(${length / 2})), '0', '1')` : `repeat('1', ${length})`

/** Cells with the most characters that an event can bring, and their limits. */
const CELLS: [table: string, column: string, where: string, most: number, key: RegExp][] = [
  ['checkpoints', 'block_hash', 'at_block = (select min(at_block) from checkpoints)', 256, /\d+, \w+/],
  [
    'funding_period_data_points',
    'price',
    'timestamp = (select min(timestamp) from funding_period_data_points)',
    256,
    /\d+, \d, \d+, \d+/,
  ],
  [
    'funding_periods',
    'funding_rate',
    'seq = (select min(seq) from funding_periods)',
    256,
    /[0-9a-f]{64}, \d+/,
  ],
  ['instruments', 'name', 'true', 1024, /[0-9a-f]{64}/],
  ['instruments', 'interest_rate', 'true', 256, /[0-9a-f]{64}/],
]

describeOn(STORE_KINDS, 'texts that no event can bring', (kind) => {
  for (const [table, column, where, most, key] of CELLS) {
    test(`${table}: check finds a longer ${column}, and none of the most characters`, async (t) => {
      const store = await storeOf(t, kind, table === 'instruments' ? recorded('perps-calm-named') : SAMPLE)
      const write = (text: string) => runSql(store, `update ${table} set ${column} = ${text} where ${where}`)
      // As many characters, and more bytes.
      await write(`'${'é'.repeat(most)}'`)
      const reader = await openStore(store).openTableReader()
      const found = await Promise.all(TABLES.map((one) => reader.run(readLongTexts(one))))
      await reader.close()
      assert.deepEqual(found.flat(), [])
      await write(`'${'é'.repeat(most + 1)}'`)
      const { problems, isReadable, notes } = await checkStore(openStore(store))
      const [{ where: place, what }] = problems.reported as [{ where: string; what: string }]
      assert.match(place, new RegExp(`^${table} \\((?:${key.source})\\)$`))
      const shown = (value: number) => value.toLocaleString('en')
      assert.equal(
        what,
        `${column} has ${shown(2 * most + 2)} bytes, but an event can bring only ${shown(most)} characters`,
      )
      assert.equal(isReadable, false)
      assert.match(notes.join(), /the rows were not checked: some texts are too long to be read/)
    })
  }

  test('are found without being read into memory', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    await runSql(
      store,
      `update checkpoints set block_hash = ${longText(kind, 120_000_000)} where at_block = (select min(at_block) from checkpoints)`,
    )
    const { code, stdout, errors, memoryBytes } = await runMeasured(t, ['check', '--store', store])
    assert.equal(code, 1)
    assert.match(
      [stdout, ...errors].join('\n'),
      /checkpoints \(\d+, .{3,64}\): block_hash has 120,000,000 bytes, but an event can bring only 256 characters/,
    )
    assert.ok(memoryBytes < MAX_MEMORY_BYTES, `${memoryBytes} bytes of memory`)
  })
})

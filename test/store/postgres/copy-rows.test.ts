import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Client } from 'pg'
import { boolean, integer, text } from '#core/model/columns'
import { defineTable } from '#core/model/table'
import { connect } from '#core/store/postgres/connection/connection'
import { copyRows } from '#core/store/postgres/rows/copy-rows'

const COPIED = defineTable({
  name: 'copied',
  columns: { id: integer(), words: text(), flag: boolean() },
  key: ['id'],
  distribution: 'nowhere',
})

const server = process.env.LYRA_TEST_POSTGRES

describe('Copied rows', { skip: server === undefined }, () => {
  let client: Client

  before(async () => {
    client = await connect({ connectionString: server!, pipeline: true, session: {} })
    await client.query('create temp table copied (id bigint primary key, words text, flag boolean)')
  })
  after(() => client?.end())

  const held = async () =>
    (await client.query({ text: 'select id, words, flag from copied order by id', rowMode: 'array' })).rows

  test('are stored unchanged, whatever their texts contain', async () => {
    const texts = [
      '',
      ' ',
      '\\',
      '\\N',
      '\\.',
      '\t',
      'a\tb\nc\r\nd\\t',
      '"quoted", {braced}',
      'null',
      'NULL',
      'é',
      '漢字',
      '😀 and more',
      'plain then é',
      `${'x'.repeat(70_000)}é`,
      '-12.50e+3',
      '007',
      '\u0001\u007f\b\f\v',
    ]
    const rows = texts.map((words, id) => ({ id: BigInt(id), words, flag: id % 2 === 0 }))
    const last = { id: (1n << 63n) - 1n, words: null, flag: null }
    await client.query('truncate copied')
    await copyRows(client, COPIED, [...rows, last])
    const asRead = [...rows, last].map(({ id, words, flag }) => [String(id), words, flag])
    assert.deepEqual(await held(), asRead)
  })

  test('are all refused if one already exists, and the statements sent after them continue', async () => {
    await client.query('truncate copied')
    await client.query("insert into copied values (5000, 'before', true)")
    // More than the server has read when it finds the duplicate.
    const rows = Array.from({ length: 100_000 }, (_, id) => ({
      id: BigInt(id),
      words: 'x'.repeat(50),
      flag: false,
    }))
    const outcomes = await Promise.allSettled([
      client.query('begin'),
      client.query('savepoint before_rows'),
      copyRows(client, COPIED, rows),
      copyRows(client, COPIED, [{ id: 200_000n, words: 'behind', flag: false }]),
      client.query('rollback to savepoint before_rows'),
      client.query("insert into copied values (300000, 'after', false)"),
      client.query('commit'),
    ])
    const codes = outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? null : (outcome.reason as { code: string }).code,
    )
    // A failed transaction accepts nothing more: both copies are refused, each once.
    assert.deepEqual(codes.toSorted(), ['23505', '25P02', null, null, null, null, null].toSorted())
    assert.deepEqual(await held(), [
      ['5000', 'before', true],
      ['300000', 'after', false],
    ])
  })

  test('are refused if the table does not exist, and the connection stays usable', async () => {
    const rows = Array.from({ length: 50_000 }, (_, id) => ({
      id: BigInt(id),
      words: 'x'.repeat(100),
      flag: false,
    }))
    await assert.rejects(copyRows(client, { ...COPIED, name: 'missing' }, rows), { code: '42P01' })
    assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }])
  })
})

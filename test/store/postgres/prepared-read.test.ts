import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Client } from 'pg'
import { connect } from '#core/store/postgres/connection/connection'
import { AnswerTooLongError } from '#core/store/postgres/connection/prepared-read'
import { queryRows } from '#core/store/postgres/connection/query-rows'
import { isConnectionCut } from '#core/store/postgres/errors'
import {
  type PostgresServer,
  startPostgresServer,
  withOwnServer,
} from '../../fixtures/stores/postgres-server.ts'

const VALUES = `
  select $1::bigint, $2::text, cast($3 as smallint), $2 is null as is_null, ''::text, $1::bigint / $3::bigint
  from generate_series(1, 2)`

describe('Prepared reads', withOwnServer(), () => {
  let server: PostgresServer
  const clients: Client[] = []

  before(async () => {
    server = (await startPostgresServer())!
  })
  after(async () => {
    await Promise.all(clients.map((client) => client.end()))
    server?.remove()
  })

  async function open(): Promise<{ client: Client; described: () => number }> {
    const client = await connect({ connectionString: server.url, pipeline: true, session: {} })
    clients.push(client)
    let count = 0
    client.connection.on('rowDescription', () => count++)
    return { client, described: () => count }
  }

  test('return the same rows each time, and have their columns described once per connection', async () => {
    const row = ['9223372036854775807', 'é\n"', 2, false, '', '4611686018427387903']
    for (const { client, described } of [await open(), await open()]) {
      for (let run = 0; run < 3; run++) {
        assert.deepEqual(await queryRows(client, VALUES, [2n ** 63n - 1n, 'é\n"', 2n]), [row, row])
        assert.equal(described(), 1)
      }
      assert.deepEqual(
        await queryRows(client, VALUES, [0n, null, 1n]),
        Array(2).fill(['0', null, 1, true, '', '0']),
      )
      assert.deepEqual(await queryRows(client, 'select 1 where false'), [])
    }
  })

  test('are answered by their own rows if many are pipelined', async () => {
    const { client } = await open()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        index % 2 === 0
          ? queryRows(client, 'select $1::text, $2::integer', [`row ${index}`, BigInt(index)])
          : queryRows(client, 'select $1::integer', [BigInt(index)]),
      ),
    )
    assert.deepEqual(
      answers,
      answers.map((_, index) => [index % 2 === 0 ? [`row ${index}`, index] : [index]]),
    )
  })

  test('report a failed one, and the ones after it are answered', async () => {
    const { client } = await open()
    const quotient = 'select 6 / $1::integer'
    const isReadOf = (message: RegExp) => (result: PromiseSettledResult<unknown>) =>
      result.status === 'rejected' && message.test((result.reason as Error).message)
    const failed = await Promise.allSettled([
      queryRows(client, quotient, [0n]),
      queryRows(client, quotient, ['x']),
      queryRows(client, 'select nothing from nowhere'),
    ])
    assert.ok(isReadOf(/division by zero/)(failed[0]))
    assert.ok(isReadOf(/invalid input syntax/)(failed[1]))
    assert.ok(isReadOf(/does not exist/)(failed[2]))
    const both = await Promise.allSettled([
      queryRows(client, quotient, [0n]),
      queryRows(client, quotient, [3n]),
    ])
    assert.ok(isReadOf(/division by zero/)(both[0]))
    assert.deepEqual(both[1], { status: 'fulfilled', value: [[2]] })
  })

  test('an answer that is too long closes the connection, and only its own statement is to blame', async () => {
    const { client } = await open()
    const text = 'select $1::text'
    const longest = 'x'.repeat(300_000)
    const [before, tooLong, after] = await Promise.allSettled([
      queryRows(client, text, [longest], 400_000),
      queryRows(client, "select repeat('x', 50000000)", [], 400_000),
      queryRows(client, text, ['after'], 400_000),
    ])
    assert.deepEqual(before, { status: 'fulfilled', value: [[longest]] })
    assert.ok(tooLong.status === 'rejected' && tooLong.reason instanceof AnswerTooLongError)
    assert.ok(after.status === 'rejected' && isConnectionCut(after.reason))
    await assert.rejects(queryRows(client, text, ['later']), (error) => isConnectionCut(error))
  })

  test('answers of one connection are measured each', async () => {
    const { client } = await open()
    const text = 'select $1::text'
    for (let run = 0; run < 20; run++) {
      const answers = Array.from({ length: 5 }, () => queryRows(client, text, ['x'.repeat(300_000)], 400_000))
      assert.equal((await Promise.all(answers)).length, 5)
    }
  })
})

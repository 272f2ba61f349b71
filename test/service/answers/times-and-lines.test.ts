import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatTime } from '#core/domain/time'
import { RESOURCES } from '#core/resources/resources'
import { timeNamesOfAnswer } from '#service/questions/answer-times'
import { QUESTIONS } from '#service/questions/questions'
import { assertSays } from '../../fixtures/assert-says.ts'
import { storeOfGenerated } from '../../fixtures/events/large-stream.ts'
import { ndjsonRows, query, send } from '../../fixtures/requests/http.ts'
import { assertMalformed } from '../../fixtures/requests/refusals.ts'
import { runWell } from '../../fixtures/services/program.ts'
import { serve } from '../../fixtures/services/service.ts'
import {
  checkpointAt,
  createLiveStore,
  LIVE_MARKET,
  perpetualMarket,
} from '../../fixtures/stores/live-store.ts'
import { describeOn, STORE_KINDS } from '../../fixtures/stores/stores.ts'

/** JSON with its times, by the names of their fields, as dates. */
function dated(value: unknown, names: ReadonlySet<string>, name = ''): unknown {
  if (typeof value === 'string') return names.has(name) ? formatTime(BigInt(value), 'all digits') : value
  if (Array.isArray(value)) return value.map((item) => dated(item, names))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, dated(inner, names, key)]))
}

describe('The times of an answer', () => {
  test('are the fields that its description says are Unix nanoseconds', async (t) => {
    const { store } = await createLiveStore(t, STORE_KINDS[0]!)
    const base = await serve(t, store)
    const document = JSON.parse((await send(base, '/openapi.json')).text)
    const timesIn = (schema: object): Set<string> => {
      const found = new Set<string>()
      const walk = (value: unknown): void => {
        if (value === null || typeof value !== 'object') return
        const { properties, $ref } = value as {
          properties?: Record<string, { description?: string }>
          $ref?: string
        }
        if ($ref !== undefined) walk(document.components.schemas[$ref.split('/').at(-1)!])
        for (const [name, property] of Object.entries(properties ?? {}))
          if (/Unix nanoseconds/.test(property.description ?? '')) found.add(name)
        for (const inner of Object.values(value)) walk(inner)
      }
      walk(schema)
      return found
    }
    let count = 0
    for (const { path, description } of QUESTIONS) {
      if (!('list' in description || 'isFile' in description)) continue
      const { get } = document.paths[path.replace(/:(\w+)/, '{$1}')]
      const schema = get.responses['200'].content['application/json'].schema
      const names = timeNamesOfAnswer(description)
      assert.deepEqual([...names].sort(), [...timesIn(schema)].sort(), path)
      count += names.size
    }
    assert.ok(count > 10)
  })
})

describeOn(STORE_KINDS, 'Times as dates', (kind) => {
  test('are those of every list, report and line of JSON, and nothing else differs', async (t) => {
    const store = await storeOfGenerated(t, kind, { blocks: 300, events: 0 })
    const base = await serve(t, store, { inThreads: true })
    const payments = ndjsonRows((await send(base, '/api/v2/export/funding-payments')).text)
    const { partyId, marketId } = payments[0]!.node as { partyId: string; marketId: string }
    let dates = 0
    for (const { path, description } of QUESTIONS) {
      if (!('list' in description || 'isFile' in description)) continue
      const isOfParty = 'list' in description && description.list.required.list?.join() === 'partyId'
      const needed: [string, string][] = isOfParty
        ? [['partyId', partyId]]
        : 'list' in description && description.list.required.list !== undefined
          ? [['marketId', marketId]]
          : []
      const target = path.replace(':marketId', marketId).replace(':partyId', partyId)
      const plain = await send(base, `${target}${query(needed)}`)
      assert.equal(plain.status, 200, plain.text.slice(0, 200))
      for (const more of [[], [['pretty', '1']]] as [string, string][][]) {
        // The second answer is from memory.
        for (let time = 0; time < 2; time++) {
          const answer = await send(base, `${target}${query([...needed, ['times', 'iso'], ...more])}`)
          assert.equal(answer.status, 200, answer.text.slice(0, 200))
          const expected = dated(JSON.parse(plain.text), timeNamesOfAnswer(description))
          assert.deepEqual(JSON.parse(answer.text), expected, target)
        }
      }
      dates += plain.text.split(/"(?:timestamp|start|end)":"\d/).length - 1
    }
    assert.ok(dates > 100)
    for (const resource of RESOURCES) {
      const target = `/api/v2/export/${resource.kebabName}.ndjson`
      const names = timeNamesOfAnswer({ list: resource })
      const plain = (await send(base, target)).text.trimEnd().split('\n')
      const iso = (await send(base, `${target}?times=iso`)).text.trimEnd().split('\n')
      assert.deepEqual(
        iso.map((line) => JSON.parse(line)),
        plain.map((line) => dated(JSON.parse(line), names)),
      )
      const { stdout } = await runWell(
        t,
        `export ${resource.kebabName} --store ${store} --oldest-first --times iso`,
      )
      assert.equal(stdout.trimEnd(), iso.join('\n'), resource.kebabName)
    }
    for (const refused of ['/api/v2/checkpoints?times=micros', `/api/v2/funding-periods/${marketId}?times=`])
      await assertMalformed(base, refused)
  })
})

describeOn(STORE_KINDS, 'Ends of lines within texts', (kind) => {
  test('are escaped in JSON, in which readers of lines would cut', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const name = 'a\u2028b\u2029c\u0085d"\\é🙂'
    const market = perpetualMarket(LIVE_MARKET)
    await live.commit(1, [
      { ...market, name, code: name } as typeof market,
      { ...checkpointAt(1), hash: name },
    ])
    const base = await serve(t, store, { inThreads: true })
    for (const target of [
      '/api/v2/instruments',
      '/api/v2/instruments?pretty=1',
      '/api/v2/instruments?times=iso',
      '/api/v2/checkpoints',
      '/api/v2/market-summaries',
      '/api/v2/export/instruments.ndjson',
      '/api/v2/export/instruments.ndjson?times=iso',
      '/api/v2/export/checkpoints.ndjson',
    ]) {
      const { text, status } = await send(base, target)
      assert.equal(status, 200)
      assert.doesNotMatch(text, /[\u0085\u2028\u2029]/, target)
      assertSays(text, '\\u2028b\\u2029c\\u0085d\\"\\\\é🙂')
      if (!target.includes('ndjson'))
        assertSays(JSON.stringify(JSON.parse(text)), JSON.stringify(name).slice(1, -1))
    }
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { framed } from '#service/grpc/framing'
import { methodsOf, TRADING_DATA } from '#service/protos/descriptors'
import { encodeMessage } from '#service/protos/messages'
import type { CheckedPage } from '#service/questions/page-request'
import { questionAt } from '#service/questions/question-at'
import { RESOURCE_CASES, selectionsOf } from '../../fixtures/resources/resource-cases.ts'
import { createLiveStore } from '../../fixtures/stores/live-store.ts'
import { describeOn, openReader, STORE_KINDS } from '../../fixtures/stores/stores.ts'

const BLOCKS = 12
const EVENTS_OF_BLOCK = 60

describeOn(STORE_KINDS, 'Messages of pages, which are encoded from rows,', (kind) => {
  for (const resourceCase of RESOURCE_CASES) {
    const { resource, events, keys } = resourceCase
    if (resource.grpcMethod === undefined) continue
    const { response } = methodsOf(TRADING_DATA)[resource.grpcMethod]!
    const question = questionAt(resource.path)

    test(`are the JSON of ${resource.name}, encoded`, async (t) => {
      const { store, live } = await createLiveStore(t, kind)
      const lists = fc.sample(fc.array(events, { minLength: EVENTS_OF_BLOCK, maxLength: EVENTS_OF_BLOCK }), {
        seed: 3,
        numRuns: BLOCKS,
      })
      for (const [index, list] of lists.entries()) await live.commit(index + 1, index === 0 ? [] : list)
      const reader = await openReader(t, store)
      const pages: fc.Arbitrary<CheckedPage> = fc.record({
        selection: selectionsOf(resourceCase),
        descending: fc.boolean(),
        cursor: fc.option(keys, { freq: 1 }),
        limit: fc.integer({ min: 1, max: 30 }),
        edges: fc.constantFrom('as read', 'reversed'),
      })
      let edges = 0
      for (const page of fc.sample(pages, { seed: 3, numRuns: 150 })) {
        const json = (await question.render(page, { reader, form: 'json' }))!
        const message = (await question.render(page, { reader, form: 'grpc' }))!
        const parsed = JSON.parse(json.body.toString())
        edges += parsed[resource.bodyKey].edges.length
        const encoded = encodeMessage(response, parsed, 4 * json.body.length)
        assert.deepEqual(message.body, framed(encoded))
        assert.deepEqual(message.storeHead, json.storeHead)
      }
      assert.ok(edges > 50, `${edges} edges`)
    })
  }
})

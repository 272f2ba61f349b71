import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openApiDocument } from '../src/api/openapi/openapi.ts'
import { ROOT } from './fixtures/documentation.ts'

/** The port to which deploy/nginx/lyra.conf sends a path: that of the location that nginx chooses. */
function portOf(path: string): string {
  const text = readFileSync(join(ROOT, 'deploy/nginx/lyra.conf'), 'utf8')
  const locations = [...text.matchAll(/location (~ )?(\S+) \{\s+proxy_pass http:\/\/127\.0\.0\.1:(\d+);/g)]
  assert.equal(locations.length, 4)
  const found =
    locations.find(([, isPattern, pattern]) => isPattern !== undefined && new RegExp(pattern!).test(path)) ??
    locations.find(([, isPattern]) => isPattern === undefined)
  return found![3]!
}

test('the example for nginx sends every path of Lyra to Lyra, and those of a data node to it', () => {
  const { paths } = openApiDocument('0') as { paths: Record<string, object> }
  const ours = [...Object.keys(paths), '/', '/docs', '/assets/x.js', '/openapi.json']
  assert.ok(ours.length > 25)
  for (const path of ours) assert.equal(portOf(path.replaceAll(/\{\w+\}/g, 'f'.repeat(64))), '3108', path)
  for (const path of ['/api/v2/markets', '/api/v2/liquidity/provisions', '/graphql', '/api/v2/orders'])
    assert.equal(portOf(path), '3008', path)
})

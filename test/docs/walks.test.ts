import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ROOT } from '../fixtures/documentation.ts'
import { codeOf, declares, hasName, usesName } from './source-code.ts'

const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')

/** A line of a walk: what a file declares, and the callbacks, types and functions that its sentence mentions. */
type Line = { text: string; file: string; name: string; mentioned: readonly string[] }

/** A numbered list of a walk, under its heading. */
type Walk = { title: string; lines: readonly Line[] }

/** The walks in the text of a page: every numbered list below the heading `Walks`. */
function walksIn(page: string): Walk[] {
  const section = /^## Walks$([\s\S]*?)^## /m.exec(page)?.[1] ?? ''
  return section.split(/^### /m).flatMap((part) => {
    const title = part.slice(0, part.indexOf('\n'))
    const lists = part.match(/(?:^\d+\. .+\n(?: {3,4}\S.*\n)*)+/gm) ?? []
    return lists.map((list) => ({
      title,
      lines: list
        .split(/^\d+\. /m)
        .slice(1)
        .map(lineOf),
    }))
  })
}

function lineOf(item: string): Line {
  const text = item.trim().replaceAll(/\s+/g, ' ')
  const [, file, name, sentence] = /^`(src\/[^`]+\.ts)` `([\w.#]+)`,? (.+[.:])$/.exec(text) ?? []
  assert.ok(sentence !== undefined, `not a file, a name and a sentence: ${text}`)
  const mentioned = [...sentence.matchAll(/`(\w+)`/g)].map(([, code]) => code!)
  return { text, file: file!, name: name!, mentioned }
}

/** Why a line does not hold, by itself; null if it does. */
function faultOfLine({ text, file, name, mentioned }: Line): string | null {
  if (!existsSync(join(ROOT, file))) return `there is no such file: ${text}`
  const code = codeOf(file)
  if (!declares(code, name)) return `${file} does not declare ${name}: ${text}`
  const unknown = mentioned.find((one) => !hasName(code, one))
  return unknown === undefined ? null : `${file} does not name ${unknown}: ${text}`
}

/**
 * Why a line does not lead to the next one; null if it does. It leads there if its file uses what the next line names, if
 * the next file uses what this line names, to which this one returns, or if both files name what its sentence mentions.
 */
function faultOfStep(line: Line, next: Line): string | null {
  const [code, nextCode] = [codeOf(line.file), codeOf(next.file)]
  if (usesName(code, next.name) || usesName(nextCode, line.name)) return null
  if (line.mentioned.some((one) => next.mentioned.includes(one) && hasName(nextCode, one))) return null
  return `${line.file} ${line.name} does not lead to ${next.file} ${next.name}`
}

function faultsOf({ lines }: Walk): string[] {
  const faults = lines.map(faultOfLine).filter((fault) => fault !== null)
  if (faults.length > 0) return faults
  return lines.slice(1).flatMap((next, index) => faultOfStep(lines[index]!, next) ?? [])
}

const WALKS = walksIn(PAGE)

describe('The walks of docs/architecture.md', () => {
  test('are those of an event, a request and a commit', () => {
    const titles = [...new Set(WALKS.map(({ title }) => title))]
    assert.deepEqual(titles, ['Life of an event', 'Life of a request', 'Life of a commit'])
    const items = /^## Walks$[\s\S]*?^## /m.exec(PAGE)![0].match(/^\d+\. /gm)!
    assert.equal(WALKS.flatMap(({ lines }) => lines).length, items.length)
  })

  for (const walk of WALKS) {
    test(`${walk.title}: each line from ${walk.lines[0]!.name} on exists and leads to the next`, () => {
      assert.ok(walk.lines.length > 3)
      assert.deepEqual(faultsOf(walk), [])
    })
  }

  test('would not do with a line that is gone, or one that leads nowhere', () => {
    const [framer, files] = ['src/core/records/record-framer.ts', 'src/core/ingest/ingest-files.ts']
    const walkOf = (...items: string[]): Walk => ({ title: '', lines: items.map(lineOf) })
    const sink = `\`${files}\` \`ingestFiles\` gave it this \`RecordSink\`.`
    for (const [walk, fault] of [
      [walkOf(`\`${framer}\` \`RecordFramer.push\` calls its \`RecordSink\`.`, sink), undefined],
      [walkOf(`\`${framer}\` \`RecordFramer.push\` cuts the bytes.`, sink), /does not lead to/],
      [walkOf(`\`${framer}\` \`RecordFramer.pull\` calls its \`RecordSink\`.`, sink), /does not declare/],
      [walkOf(`\`${framer}\` \`RecordFramer.push\` calls \`RecordSinks\`.`, sink), /does not name/],
      [walkOf('`src/core/records/framer.ts` `push` cuts the bytes.', sink), /no such file/],
    ] as const) {
      const [found] = faultsOf(walk)
      if (fault === undefined) assert.equal(found, undefined)
      else assert.match(found ?? '', fault)
    }
  })
})

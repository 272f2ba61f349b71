import { idOfPath } from '../../client/src/requests.ts'
import { PATHS, REPORTS, STREAM_PATHS } from '../../client/src/resources.ts'

/** A parameter of a request with the value that it is to have. */
export type Given = { in: string; name: string; value: string }

/** A path of the API, with its parameters in braces, and their values. */
export type Asked = { base: string; path: string; given: readonly Given[] }

/** A path as OpenAPI writes it: `{marketId}` instead of `:marketId`. */
const braced = (path: string) => path.replaceAll(/:(\w+)/g, '{$1}')

const PARAMETER = /\{(\w+)\}/g

/** The address of a request. A path's parameter without a value stays in braces. */
export function addressOf({ base, path, given }: Asked): string {
  const filled = path.replace(PARAMETER, (braces, name: string) => {
    const value = given.find((parameter) => parameter.in === 'path' && parameter.name === name)?.value
    return value === undefined ? braces : encodeURIComponent(value)
  })
  const query = given.filter((parameter) => parameter.in === 'query')
  const text = new URLSearchParams(query.map(({ name, value }) => [name, value])).toString()
  return `${base}${filled}${text === '' ? '' : `?${text}`}`
}

/** The request as a command. */
export function curlSample(asked: Asked): string {
  const headers = asked.given
    .filter((parameter) => parameter.in === 'header')
    .map(({ name, value }) => ` \\\n  -H ${quoted(`${name}: ${value}`)}`)
  // -N: curl shows each event of a stream when it arrives. -OJ: it writes a file by the name that the service gives it.
  const how = asked.path in STREAMS ? '-N ' : isParquet(asked) ? '-OJ ' : ''
  return `curl ${how}${quoted(addressOf(asked))}${headers.join('')}`
}

/** Whether the answer is a file that no one reads as text. */
const isParquet = ({ given }: Asked) =>
  given.some(({ name, value }) => name === 'format' && value === 'parquet')

/** Calls of lyra-client by path, with their arguments: filters and a page, the id in the path and options, or only options. */
const CALLS: Record<string, { name: string; takes: 'page' | 'id' | 'options' }> = {
  ...Object.fromEntries(
    Object.entries(PATHS).map(([name, path]) => [braced(path), { name: `${name}Page`, takes: 'page' }]),
  ),
  ...Object.fromEntries(
    Object.entries(REPORTS).map(([name, { path }]) => [
      braced(path),
      { name, takes: idOfPath(path) === null ? 'options' : 'id' },
    ]),
  ),
  '/health': { name: 'health', takes: 'options' },
  '/ready': { name: 'ready', takes: 'options' },
}

const STREAMS: Record<string, string> = Object.fromEntries(
  Object.entries(STREAM_PATHS).map(([name, path]) => [
    path,
    `stream${name[0]!.toUpperCase()}${name.slice(1)}`,
  ]),
)

/** The client's names of parameters, if different. */
const NAMES: Record<string, string> = {
  'dateRange.startTimestamp': 'from',
  'dateRange.endTimestamp': 'to',
}

/** Parameters that the client takes as numbers. */
const NUMBERS = ['first', 'last', 'buckets']

/** The request in TypeScript: by lyra-client if that has a call for it and all that is given, else by fetch. */
export function typescriptSample(asked: Asked): string {
  const call = CALLS[asked.path]
  const stream = STREAMS[asked.path]
  const { filters, page, headers } = split(asked)
  const client = [
    `import { createLyraClient } from 'lyra-client'`,
    '',
    `const lyra = createLyraClient({ url: ${literal(asked.base)} })`,
  ]
  if (stream !== undefined) {
    const lastId = ['Last-Event-ID', 'lastEventId']
      .map((name) => asked.given.find((parameter) => parameter.name === name && parameter.value !== ''))
      .find((parameter) => parameter !== undefined)
    const start = lastId === undefined ? page : [['after', literal(lastId.value)] as Entry]
    const options = object([...start, ['signal', 'stop']])
    return [
      ...client,
      'const stop = AbortSignal.timeout(60_000)',
      `for await (const { row } of lyra.${stream}(${object(filters)}, ${options})) {`,
      '  console.log(row)',
      '}',
    ].join('\n')
  }
  const isFile = asked.given.some(({ name }) => name === 'format' || name === 'times')
  if (call === undefined || isFile || headers.length > 0) {
    const sent = headers.map(([name, value]): Entry => [literal(name), literal(value)])
    const options = sent.length === 0 ? '' : `, { headers: ${object(sent)} }`
    const isKnown = headers.some(([name]) => name === 'If-None-Match') ? ' && response.status !== 304' : ''
    return [
      ...(isParquet(asked) ? [`import { writeFile } from 'node:fs/promises'`, ''] : []),
      `const response = await fetch(${literal(addressOf(asked))}${options})`,
      `if (!response.ok${isKnown}) throw new Error(await response.text())`,
      isParquet(asked)
        ? `await writeFile('rows.parquet', Buffer.from(await response.arrayBuffer()))`
        : `console.log(await response.${asked.path.endsWith('.json') ? 'json' : 'text'}())`,
    ].join('\n')
  }
  if (call.takes === 'page') {
    return [
      ...client,
      `const page = await lyra.${call.name}(${object(filters)}, ${object(page)})`,
      'for (const { node, cursor } of page.rows) console.log(node, cursor)',
    ].join('\n')
  }
  const given = [...filters, ...page]
  const [inPath] = [...asked.path.matchAll(PARAMETER)].map(([, name]) => name)
  const id = call.takes === 'id' ? given.find(([name]) => name === inPath) : undefined
  const options = given.filter((entry) => entry !== id)
  const args = [...(id === undefined ? [] : [id[1]]), ...(options.length === 0 ? [] : [object(options)])]
  return [
    ...client,
    `const answer = await lyra.${call.name}(${args.join(', ')})`,
    'console.log(JSON.stringify(answer, null, 2))',
  ].join('\n')
}

/** The request in Python, with the standard library only. */
export function pythonSample(asked: Asked): string {
  const headers = asked.given
    .filter((parameter) => parameter.in === 'header')
    .map(({ name, value }) => `${literal(name)}: ${literal(value)}`)
  const address = literal(addressOf(asked))
  const request =
    headers.length === 0 ? address : `urllib.request.Request(${address}, headers={${headers.join(', ')}})`
  const isText =
    asked.path === '/metrics' ||
    asked.path.startsWith('/api/v2/export/') ||
    asked.given.some(({ name }) => name === 'format')
  const isStream = asked.path in STREAMS
  const opened = `urllib.request.urlopen(${request}, timeout=60) as response`
  if (isParquet(asked)) {
    const lines = [
      `with ${opened}, open("rows.parquet", "wb") as file:`,
      '    shutil.copyfileobj(response, file)',
    ]
    return ['import shutil', 'import urllib.request', '', ...lines].join('\n')
  }
  return [
    ...(isText || isStream ? [] : ['import json']),
    'import urllib.request',
    '',
    `with ${opened}:`,
    ...(isText || isStream
      ? ['    for line in response:', '        print(line.decode(), end="", flush=True)']
      : ['    print(json.dumps(json.load(response), indent=2))']),
  ].join('\n')
}

type Entry = [name: string, value: string]

/** Filters and page of a request, as the client takes them, and its headers. */
function split({ path, given }: Asked): { filters: Entry[]; page: Entry[]; headers: Entry[] } {
  const known = given.filter((parameter) => parameter.in !== 'header' && parameter.name !== 'pretty')
  const asked = [...path.matchAll(PARAMETER)].map(([, name]) => name!)
  const missing = asked.filter((name) => !known.some((parameter) => parameter.name === name))
  const ofPage = ({ name }: Given) =>
    name.startsWith('pagination.') || ['after', 'afterBlock', 'lastEventId'].includes(name)
  return {
    filters: [
      ...missing.map((name): Entry => [name, literal(`{${name}}`)]),
      ...known
        .filter((parameter) => !ofPage(parameter))
        .map(({ name, value }): Entry => [NAMES[name] ?? name, plainOrText(name, value)]),
    ],
    page: known.filter(ofPage).map(({ name, value }): Entry => {
      const own = name.replace('pagination.', '')
      return [own, plainOrText(own, value)]
    }),
    headers: given.filter((parameter) => parameter.in === 'header').map(({ name, value }) => [name, value]),
  }
}

/** A value as the client takes it: a number, yes or no, or a text. */
function plainOrText(name: string, value: string): string {
  const isPlain = NUMBERS.includes(name) ? /^\d+$/.test(value) : name === 'newestFirst'
  return isPlain ? value : literal(value)
}

/** Longer ones have a line for each entry. */
const OBJECT_WIDTH = 50

function object(entries: readonly Entry[]): string {
  if (entries.length === 0) return '{}'
  const written = entries.map(([name, value]) => `${name}: ${value}`)
  const line = `{ ${written.join(', ')} }`
  return line.length <= OBJECT_WIDTH ? line : `{\n${written.map((entry) => `  ${entry},\n`).join('')}}`
}

function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
}

/** A text as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

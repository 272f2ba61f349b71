import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { transformSync } from 'rolldown/utils'
import { addDecimals } from '../../client/src/index.ts'
import { DOCUMENTED_MARKET, documentedPages, ROOT } from '../fixtures/documentation.ts'
import { getPage, nodesOf, type PageAnswer } from '../fixtures/requests/http.ts'
import { scaled } from '../fixtures/sampling.ts'
import { freePort, serveWith } from '../fixtures/services/port.ts'
import { ended, runWell, startProgram } from '../fixtures/services/program.ts'
import { skipsWithoutPython, startPython } from '../fixtures/services/python.ts'
import { serveBoth, serveFile, serveRecording, storeOf } from '../fixtures/services/service.ts'
import { CHECKPOINTS, MARKET, MONTH, POINTS, PROVIDERS, SAMPLE, skip } from '../fixtures/shared.ts'
import { STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'

const CLIENTS = import.meta.dirname

/** The used part of the network's published client (CommonJS, generated from the reference's description). */
type Operation = (...args: (string | number | boolean | undefined)[]) => Promise<Record<string, PageAnswer>>
type RestClients = {
  TradingData: {
    OpenAPI: { BASE: string }
    ApiError: new () => Error & { status: number; body: { code: number; details: { code: number }[] } }
    NetworkService: { tradingDataServiceListCheckpoints: Operation }
    MarketsService: { tradingDataServiceListFundingPeriodDataPoints: Operation }
    LiquidityService: { tradingDataServiceListLiquidityProviders: Operation }
  }
}

/** The path and query of a list, and an operation with the arguments that precede those for paging. */
type List = [path: string, query: string, operation: Operation, ...args: (string | undefined)[]]

test('@vegaprotocol/rest-clients reads all three operations, unchanged and with its defaults', async () => {
  const base = await serveRecording('perps-calm')
  const { TradingData } = createRequire(import.meta.url)('@vegaprotocol/rest-clients') as RestClients
  TradingData.OpenAPI.BASE = base
  const { NetworkService, MarketsService, LiquidityService } = TradingData

  const party = (await getPage(base, PROVIDERS, [['marketId', MARKET]])).edges[0]!.node.partyId as string
  const points = MarketsService.tradingDataServiceListFundingPeriodDataPoints
  const providers = LiquidityService.tradingDataServiceListLiquidityProviders
  const [from, to] = ['1696500100000000000', '1696500400000000000']
  const lists: List[] = [
    [CHECKPOINTS, '', NetworkService.tradingDataServiceListCheckpoints],
    // Without a source it sends SOURCE_UNSPECIFIED.
    [POINTS, '', points, MARKET, undefined, undefined, undefined, undefined],
    [
      ...([POINTS, 'source=SOURCE_EXTERNAL&seq=2', points] as const),
      MARKET,
      undefined,
      undefined,
      'SOURCE_EXTERNAL',
      '2',
    ],
    [
      ...([POINTS, `dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`, points] as const),
      MARKET,
      from,
      to,
      undefined,
      undefined,
    ],
    [PROVIDERS, `marketId=${MARKET}`, providers, MARKET, undefined],
    [PROVIDERS, `partyId=${party}`, providers, undefined, party],
  ]
  for (const [path, query, operation, ...args] of lists) {
    const whole = await getPage(base, path, query)
    assert.notEqual(whole.edges.length, 0)
    const page = Object.values(await operation(...args))[0]!
    assert.deepEqual(page, whole, path)

    const nodes: unknown[] = []
    let after: string | undefined
    for (let more = true; more; ) {
      const next = Object.values(await operation(...args, 100, after, undefined, undefined, true))[0]!
      nodes.push(...next.edges.map(({ node }) => node))
      more = next.pageInfo.hasNextPage
      after = next.pageInfo.endCursor
    }
    const all = await nodesOf(base, path, [...new URLSearchParams(query)])
    assert.deepEqual(nodes, all, path)
  }

  await assert.rejects(providers(), (error) => {
    assert.ok(error instanceof TradingData.ApiError)
    assert.deepEqual([error.status, error.body.code, error.body.details[0]!.code], [400, 3, 10015])
    return true
  })
})

/** A documented program that asks another service. */
const servedBy = (base: string, program: string) => program.replaceAll('http://127.0.0.1:3008', base)

const { blocks: RECIPE_BLOCKS } = documentedPages().find(({ path }) => path === 'docs/recipes.md')!

test('the recipe of docs/recipes.md for gRPC runs as printed', async (t) => {
  if (skipsWithoutPython(t, 'grpc_reflection')) return
  const { base, grpc } = await serveBoth(t, await storeOf(t, STORE_KINDS[0]!, MONTH))
  const recipe = RECIPE_BLOCKS.find(({ text }) => text.includes('import grpc'))!.text
  const { stdout } = await ended(startPython(t, recipe.replaceAll('127.0.0.1:3007', grpc)))
  assert.match(stdout, /^0 -?0\.\d+\n(?:\d+ \S.*\n)+INVALID_ARGUMENT InvalidArgument error\n$/)
  const periods = await getPage(base, `/api/v2/funding-periods/${DOCUMENTED_MARKET}`)
  assert.equal(stdout.match(/^\d+ /gm)!.length, periods.edges.length)
})

test('the recipe for the next payment names the one that is due at or after a time, to the nanosecond', async () => {
  const { text } = RECIPE_BLOCKS.find(({ text }) => text.includes('lyra.marketSummaries()'))!
  const source = `export const run = async (lyra, toWholeUnits, console) => { ${text} }`
  const { code } = transformSync('recipe.ts', source)
  const { run } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  const [initial, every] = [1_700_000_000_000_000_000n, 1_000_000_000n]
  for (const [after, periods] of [
    [-every, 0n],
    [0n, 0n],
    [1n, 1n],
    [every - 1n, 1n],
    [every, 1n],
    [every + 1n, 2n],
  ] as const) {
    const dues: Date[] = []
    const funding = { schedule: { initial: `${initial}`, every: `${every}` } }
    const estimate = { at: `${initial + after}`, fundingPayment: '1', fundingRate: '0' }
    const lyra = { marketSummaries: () => [{ instrument: { code: 'A', funding }, estimate }] }
    await run(lyra, null, { log: (...texts: [...string[], Date]) => dues.push(texts.at(-1) as Date) })
    assert.deepEqual(dues, [new Date(Number((initial + periods * every) / 1_000_000n))], `${after}`)
  }
})

/** A service whose connections of a stream end in every way; `asked` has the last id that each request gives. */
async function breakingStream(t: TestContext) {
  const row = (id: number) => `id: ${id}\nevent: checkpoints\ndata: {"row":${id}}\n\n`
  const position = (id: number) => `id: ${id}\nevent: position\ndata: []\n\n`
  const answers = [
    503,
    `retry: 1000\n${position(1)}: \n${row(2)}id: 3\nevent: checkpoints\ndata: {"row":3}\n`,
    `${row(3)}event: others\ndata: {"row":0}\n\nevent: dropped\ndata: {"code":8}\n\n`,
    position(4),
    row(5),
    // A proxy's answers while the service restarts.
    502,
  ]
  const asked: unknown[] = []
  const base = await serveWith(t, (request, response) => {
    asked.push(request.headers['last-event-id'])
    const answer = answers[asked.length - 1]
    if (answer === undefined) response.writeHead(400).end()
    else if (typeof answer === 'number')
      response.writeHead(answer, answer === 503 ? { 'Retry-After': '7' } : {}).end()
    // The second answer is cut off within an event.
    else
      response.writeHead(200).write(answer, () => (asked.length === 2 ? response.destroy() : response.end()))
  })
  return { base, asked }
}

const ASKED_IDS = [undefined, undefined, '2', '3', '4', '5', '5']

const GO_RECIPE = readFileSync(join(ROOT, 'client/examples/follow-funding-points.go'), 'utf8')

/** Runs a Go program, without its vendor's tools asking anybody. */
async function runGo(t: TestContext, program: string) {
  const folder = temporaryFolder(t)
  const file = join(folder, 'main.go')
  writeFileSync(file, program)
  const env = { GOTOOLCHAIN: 'local', GOFLAGS: '', GOPROXY: 'off' }
  return ended(startProgram(t, 'go', ['run', file], { cwd: folder, env }))
}

const hasGo = () => spawnSync('go', ['version']).status === 0

test('the Go example of a stream prints the first row, as printed', async (t) => {
  if (!hasGo()) return skip(t, 'Go is not installed')
  const base = await serveFile(STORE_KINDS[0]!, MONTH)
  const { stdout } = await runGo(t, servedBy(base, GO_RECIPE))
  const path = `/api/v2/funding-periods/data-points/${DOCUMENTED_MARKET}`
  const { edges } = await getPage(base, path, 'pagination.newestFirst=false&pagination.first=1')
  const { timestamp, price } = edges[0]!.node
  assert.match(stdout, new RegExp(`^s[\\w-]+ ${timestamp} ${price}\nEOF\n$`))
})

test('the Go example of a stream reconnects after the last whole event, and waits no longer than it is to', async (t) => {
  if (!hasGo()) return skip(t, 'Go is not installed')
  const { base, asked } = await breakingStream(t)
  const gone = `http://127.0.0.1:${await freePort()}`
  const follower = GO_RECIPE.slice(0, GO_RECIPE.indexOf('const points'))
    .replace('"encoding/json"', '"os"')
    .replace('\t"io"\n', '')
    .replace('time.Sleep(asked)', 'sleep(asked)')
  const program = `${follower}
var left = 9

func sleep(asked time.Duration) {
	fmt.Println("wait", asked)
	left--
	if left == 0 {
		os.Exit(0)
	}
}

func main() {
	use := func(data, id string) error {
		fmt.Println(data, id)
		return nil
	}
	fmt.Println(follow("${base}/checkpoints", "checkpoints", "", 2*time.Second, use))
	left = 4
	fmt.Println(follow("${gone}", "checkpoints", "", 3*time.Second, use))
}`
  const { stdout } = await runGo(t, program)
  const row = (id: number) => `{"row":${id}} ${id}`
  assert.deepEqual(stdout.trim().split('\n'), [
    'wait 7s',
    row(2),
    'wait 1s',
    row(3),
    'wait 1s',
    'wait 1s',
    row(5),
    'wait 1s',
    'wait 2s',
    `${base}/checkpoints: 400 Bad Request`,
    'wait 1s',
    'wait 2s',
    'wait 3s',
    'wait 3s',
  ])
  assert.deepEqual(asked, ASKED_IDS)
})

test('the recipe of docs/recipes.md for a chart draws one, after the Python blocks before it', async (t) => {
  if (skipsWithoutPython(t, 'httpx', 'matplotlib')) return
  const base = await serveFile(STORE_KINDS[0]!, MONTH)
  const chart = RECIPE_BLOCKS.findIndex(({ text }) => text.includes('import matplotlib'))
  const program = RECIPE_BLOCKS.slice(0, chart + 1)
    .filter(({ language }) => language === 'python')
    .map(({ text }) => servedBy(base, text))
    .join('\n')
  const folder = temporaryFolder(t)
  await ended(startPython(t, program, { cwd: folder }))
  const picture = readFileSync(join(folder, 'funding.png'))
  assert.equal(picture.subarray(1, 4).toString(), 'PNG')
})

test('the recipe of docs/export.md for pandas calculates with decimals, as floats and exactly', async (t) => {
  if (skipsWithoutPython(t, 'pandas', 'pyarrow', 'matplotlib')) return
  const folder = temporaryFolder(t)
  const store = await storeOf(t, STORE_KINDS[0]!, SAMPLE)
  const out = join(folder, 'periods.parquet')
  await runWell(t, `export funding-periods --store ${store} --format parquet --out ${out}`)
  const { blocks } = documentedPages().find(({ path }) => path === 'docs/export.md')!
  const recipe = blocks.find(({ text }) => text.includes('dropna'))!.text
  const program = `${recipe}\nfor sum in exact.groupby('marketId').fundingRate.sum(): print('sum', sum)`
  const { stdout } = await ended(startPython(t, program, { cwd: folder }))
  const base = await serveRecording('perps-calm')
  const markets = (await getPage(base, '/api/v2/market-summaries', 'pagination.newestFirst=false')).edges
  const sums = markets.map(async ({ node: { marketId } }) => {
    const rates = (await nodesOf(base, `/api/v2/funding-periods/${marketId}`)).map(
      ({ fundingRate }) => fundingRate,
    )
    return rates.reduce((sum: string, rate) => addDecimals(sum, (rate as string | undefined) ?? '0'), '0')
  })
  const printed = [...stdout.matchAll(/^sum (.*)$/gm)].map(([, sum]) => addDecimals(sum!, '0'))
  assert.deepEqual(printed, await Promise.all(sums))
  assert.match(stdout, /^-?\d\.\d+(e-\d+)?\n/)
})

test('schemathesis finds only documented deviations', async (t) => {
  const command = process.env.LYRA_SCHEMATHESIS ?? 'schemathesis'
  if (spawnSync(command, ['--version']).status !== 0) {
    return skip(t, 'schemathesis is not installed; LYRA_SCHEMATHESIS may name it')
  }
  const base = await serveRecording('perps-calm')
  const examples = String(scaled(4, 300))
  // Wrong and missing values have tests of their own.
  const phases = scaled('examples,fuzzing', 'examples,coverage,fuzzing,stateful')
  const args = [
    `run ${base}/openapi.json --checks all --phases ${phases} --max-examples ${examples} --seed 1`,
    // A stream does not end.
    '--exclude-path-regex /api/v2/stream/',
    '--generation-database none --continue-on-failure --no-color',
  ].join(' ')
  const env = { SCHEMATHESIS_HOOKS: join(CLIENTS, 'schemathesis_hooks.py') }
  const { stdout } = await ended(startProgram(t, command, args, { cwd: temporaryFolder(t), env }))
  const cases = Number(/([\d,]+) generated/.exec(stdout)?.[1]?.replaceAll(',', ''))
  assert.ok(cases >= scaled(100, 5_000), stdout)
  t.diagnostic(`${cases} requests`)
})

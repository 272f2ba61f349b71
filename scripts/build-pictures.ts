// `npm run build:pictures`: writes the pictures of docs/images. Boxes and arrows of figures are tables below; the numbers of
// the funding period are calculated by the program's own functions; Chromium takes those of the explorer.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fundingPayment, fundingTerms } from '#core/funding/payment'
import { plainMean } from '#core/funding/plain-formula'
import { launchBrowser } from '../test/fixtures/explorer/launch-browser.ts'
import { ensureWebBuilt } from './build-web.ts'
import { takePictures } from './explorer-pictures.ts'

export const PICTURE_FOLDER = join(import.meta.dirname, '../docs/images')

/** `lyra`: part of Lyra, `outside`: everything else, `store`: data on disk, `group`: a frame around other boxes. */
type Kind = 'lyra' | 'outside' | 'store' | 'group'
/** The first line is the title. Lines that begin with a backquote are code. Optional boxes and their arrows are dashed. */
type Box = [
  Kind | `${Kind} optional`,
  x: number,
  y: number,
  width: number,
  height: number,
  ...lines: string[],
]
type End = `${string}.${'left' | 'right' | 'top' | 'bottom'}`
type Arrow = [from: End, to: End, label?: string]
type Point = [x: number, y: number]

const STYLE = `
svg { --paper: #fff; --panel: #f3f5f8; --box: #fff; --line: #5c6980; --ink: #131a26; --quiet: #4a5568; --lyra: #1556b0;
  --external: #a34a00; --internal: #1556b0; --auction: #f0e6c8 }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --panel: #151b24; --box: #1e2631; --line: #8b98ab;
  --ink: #e7ecf3; --quiet: #aab6c6; --lyra: #7cb4ff; --external: #ffa657; --internal: #7cb4ff; --auction: #42371a } }
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: var(--quiet) }
.title { font-weight: 600; font-size: 15px; fill: var(--ink) }
.code { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.paper { fill: var(--paper) }
.box { fill: var(--box); stroke: var(--line) }
.box.lyra, .box.store { stroke: var(--lyra); stroke-width: 2 }
.box.group { fill: var(--panel); stroke: var(--lyra); stroke-width: 2 }
.optional { stroke-dasharray: 5 4 }
.arrow { fill: none; stroke: var(--line); stroke-width: 1.5 }
.head { fill: var(--line) }
.auction { fill: var(--auction) }
path.external, path.internal, .point { fill: none; stroke: var(--external); stroke-width: 2 }
path.internal, .internal.point { stroke: var(--internal) }
.point { fill: var(--paper) }
path.mean { stroke-width: 1.5; stroke-dasharray: 2 4 }
text.external { fill: var(--external) }
text.internal { fill: var(--internal) }
`

/** An SVG that follows the reader's colour scheme. It has a background of its own, for pages that do not follow it. */
function figure([width, height]: Point, title: string, description: string, ...content: string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${title}</title>
<desc>${description}</desc>
<style>${STYLE}</style>
<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker>
<rect class="paper" width="${width}" height="${height}" rx="8"/>
${content.join('\n')}
</svg>
`
}

function text(x: number, y: number, content: string, style = '', anchor = 'middle'): string {
  return `<text class="${style}" x="${x}" y="${y}" text-anchor="${anchor}">${content}</text>`
}

function diagram(boxes: Record<string, Box>, arrows: readonly Arrow[]): string {
  return [...Object.values(boxes).map(drawBox), ...arrows.map((arrow) => drawArrow(boxes, arrow))].join('\n')
}

function drawBox([kind, x, y, width, height, ...lines]: Box): string {
  const isStore = kind.startsWith('store')
  const isGroup = kind === 'group'
  const top = isGroup ? y + 24 : y + height / 2 - 9 * (lines.length - 1) + (isStore ? 10 : 5)
  const texts = lines.map((line, i) => {
    const style = line.startsWith('`') ? 'code' : i === 0 ? 'title' : ''
    const content = line.replace('`', '')
    return isGroup
      ? text(x + 14, top + 18 * i, content, style, 'start')
      : text(x + width / 2, top + 18 * i, content, style)
  })
  const half = width / 2
  const outline = isStore
    ? `<path class="box ${kind}" d="M${x} ${y + 7}v${height - 14}a${half} 7 0 0 0 ${width} 0v${14 - height}"/>
<ellipse class="box ${kind}" cx="${x + half}" cy="${y + 7}" rx="${half}" ry="7"/>`
    : `<rect class="box ${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="${kind.startsWith('outside') ? 16 : 3}"/>`
  return [outline, ...texts].join('\n')
}

/** Straight between sides that face each other, at the middle of the shorter one, otherwise round one corner. */
function drawArrow(boxes: Record<string, Box>, [from, to, label]: Arrow): string {
  const ends = [endOf(boxes, from), endOf(boxes, to)] as const
  const [a, b] = ends
  const short = a.length < b.length ? a : b
  const isStraight = a.isLevel === b.isLevel
  const [[x1, y1], [x2, y2]] = ends.map(({ x, y, isLevel }): Point => {
    if (!isStraight) return [x, y]
    return isLevel ? [x, short.y] : [short.x, y]
  }) as [Point, Point]
  const corner: Point = a.isLevel ? [x2, y1] : [x1, y2]
  const isOptional = a.isOptional || b.isOptional
  const path = `M${x1} ${y1}L${isStraight ? '' : `${corner.join(' ')}L`}${x2} ${y2}`
  const line = `<path class="arrow${isOptional ? ' optional' : ''}" marker-end="url(#head)" d="${path}"/>`
  if (label === undefined) return line
  if (isStraight && !a.isLevel) return `${line}\n${text(x1 + 8, (y1 + y2) / 2 + 5, label, '', 'start')}`
  return `${line}\n${text((x1 + x2) / 2, corner[1] - 7, label)}`
}

/** The middle of a side of a box, and how long that side is. */
function endOf(boxes: Record<string, Box>, end: End) {
  const [name, side] = end.split('.')
  const [kind, x, y, width, height] = boxes[name!]!
  const isOptional = kind.endsWith('optional')
  return side === 'left' || side === 'right'
    ? { x: side === 'left' ? x : x + width, y: y + height / 2, isLevel: true, length: height, isOptional }
    : { x: x + width / 2, y: side === 'top' ? y : y + height, isLevel: false, length: width, isOptional }
}

function dataFlow(): string {
  const boxes: Record<string, Box> = {
    writing: ['group', 200, 16, 560, 296, 'Writing'],
    core: ['outside', 16, 52, 152, 66, 'Core', 'live events'],
    files: ['outside', 16, 140, 152, 66, 'Event files', 'archives'],
    node: ['outside', 16, 228, 152, 66, 'Data node', 'database, segments'],
    log: ['store', 220, 52, 150, 66, 'Event log', '`src/core/log'],
    events: ['lyra', 220, 140, 150, 66, 'Events', '`src/core/records', '`src/core/events'],
    import: ['lyra', 220, 228, 150, 66, 'Import', '`src/tools/import'],
    blocks: ['lyra', 406, 140, 150, 66, 'Blocks', 'gaps, repeats', '`src/core/blocks'],
    rows: ['lyra', 592, 140, 150, 66, 'Rows', '`src/core/resources'],
    store: ['store', 796, 16, 124, 580, 'Store', 'SQLite', 'or PostgreSQL', '`src/core/store'],
    reading: ['group', 200, 336, 560, 300, 'Reading'],
    grpc: ['outside', 16, 372, 152, 66, 'gRPC clients', 'pages'],
    explorer: ['outside', 16, 460, 152, 66, 'Explorer', 'pages, streams'],
    programs: ['outside', 16, 548, 152, 66, 'Programs', 'the whole API'],
    http: ['lyra', 220, 372, 150, 242, 'HTTP, gRPC', '`src/service/http', '`src/service/grpc'],
    answers: ['lyra', 406, 372, 150, 66, 'Answers', '`src/service/questions', '`src/service/answers'],
    pages: ['lyra', 592, 372, 150, 66, 'Pages, reports', '`src/core/store/pages', '`src/core/store/queries'],
    streams: ['lyra', 592, 460, 150, 66, 'Streams', '`src/service/streams'],
    exports: ['lyra', 592, 548, 150, 66, 'Exports', '`src/service/exports'],
    folder: ['outside', 16, 652, 152, 44, 'Parquet files'],
  }
  const arrows: Arrow[] = [
    ['core.right', 'log.left'],
    ['files.right', 'events.left'],
    ['node.right', 'import.left'],
    ['log.bottom', 'events.top'],
    ['events.right', 'blocks.left'],
    ['blocks.right', 'rows.left'],
    ['import.right', 'rows.bottom', 'tables, decoded as events'],
    ['rows.right', 'store.left'],
    ['store.left', 'pages.right'],
    ['store.left', 'streams.right'],
    ['store.left', 'exports.right'],
    ['pages.left', 'answers.right'],
    ['answers.left', 'http.right'],
    ['streams.left', 'http.right', 'new rows after each commit'],
    ['exports.left', 'http.right', 'one snapshot'],
    ['exports.bottom', 'folder.right', 'lyra export'],
    ['http.left', 'grpc.right'],
    ['http.left', 'explorer.right'],
    ['http.left', 'programs.right'],
  ]
  return figure(
    [936, 712],
    'How events become answers',
    `Writing: a core's events go through an event log on disk; they and event files become events, whole blocks and rows, which one
transaction writes to the store. An import turns a data node's tables into rows. Reading: pages and reports become answers,
streams send new rows after each commit, exports read one snapshot; HTTP and gRPC send them to clients.`,
    diagram(boxes, arrows),
  )
}

function deployment(): string {
  const boxes: Record<string, Box> = {
    lyra: ['group', 210, 128, 390, 204, 'One machine'],
    core: ['outside', 16, 168, 110, 66, 'Core', 'sends events'],
    first: ['lyra', 230, 168, 170, 66, '`serve --listen', 'ingests, forwards,', 'serves'],
    more: ['lyra optional', 440, 168, 140, 66, 'Readers', '`serve'],
    log: ['store', 230, 256, 170, 60, 'Event log', 'events on disk'],
    node: ['outside optional', 320, 16, 170, 60, 'Data node', 'or another Lyra'],
    nginx: ['outside', 690, 168, 110, 66, 'nginx', 'TLS'],
    clients: ['outside', 866, 160, 120, 82, 'Clients', 'explorer,', 'REST, gRPC'],
    sqlite: ['store', 240, 396, 150, 66, 'SQLite file', 'the default'],
    postgres: ['store optional', 440, 396, 150, 66, 'PostgreSQL', 'or Citus'],
    workers: ['store optional', 440, 516, 150, 66, 'Citus workers', 'large tables'],
    replicas: ['store optional', 670, 396, 150, 66, 'Replicas', 'read only'],
    readers: ['lyra optional', 660, 284, 170, 60, 'Readers', 'on more machines'],
  }
  const arrows: Arrow[] = [
    ['core.right', 'lyra.left', 'events'],
    ['first.bottom', 'log.top'],
    ['lyra.top', 'node.bottom', 'the same events'],
    ['nginx.left', 'lyra.right', 'Lyra’s paths'],
    ['nginx.top', 'node.right', 'all other paths'],
    ['nginx.bottom', 'readers.top'],
    ['clients.left', 'nginx.right'],
    ['lyra.bottom', 'sqlite.top', 'either'],
    ['lyra.bottom', 'postgres.top', 'or'],
    ['postgres.bottom', 'workers.top'],
    ['replicas.left', 'postgres.right', 'follow'],
    ['readers.bottom', 'replicas.top'],
  ]
  const legend = ['An arrow points from the side that connects.', 'Dashed: optional.']
  return figure(
    [1002, 600],
    'What a deployment of Lyra can consist of',
    `A core connects to a Lyra service, which writes its events to an event log and to the store, and forwards them to a data node.
Readers serve the same store. Clients connect to nginx, which sends Lyra's paths to Lyra and all others to the data node. The store is a SQLite
file, or PostgreSQL with replicas for more machines, or a Citus cluster.`,
    diagram(boxes, arrows),
    ...legend.map((line, i) => text(16, 556 + 20 * i, line, '', 'start')),
  )
}

/** Prices of a period: minutes since its start, and hundredths of the settlement asset. */
const EXTERNAL = pricesOf('-25 26960, 60 26972, 120 26990, 245 27008, 300 27002, 360 27019, 420 27012')
const INTERNAL = pricesOf(
  '-8 26985, 35 27010, 80 26998, 130 27028, 165 27020, 225 27015, 270 27046, 330 27030, 385 27055, 450 27035',
)
const AUCTION = { start: 180, end: 210 }
const END = 480
const TERMS = { clampLowerBound: '-0.0001', clampUpperBound: '0.0001' }
const UNSET = { scalingFactor: null, lowerBound: null, upperBound: null }

function pricesOf(table: string): { minute: number; price: number }[] {
  return table.split(', ').map((row) => {
    const [minute, whole] = row.split(' ').map(Number)
    return { minute: minute!, price: whole! * 100 }
  })
}

/** TWAPs at the end of the period, and its payment step by step: without interest and auctions, with interest, in full. */
function calculatePeriod() {
  const [start, end] = [0n, nanoseconds(END)]
  const auction = { start: nanoseconds(AUCTION.start), end: nanoseconds(AUCTION.end) }
  const twapOf = (prices: typeof EXTERNAL) => {
    const points = prices.map(({ minute, price }) => ({ time: nanoseconds(minute), price: BigInt(price) }))
    return plainMean(points, { start, auctions: { closed: [auction], open: null } }, end)!
  }
  const facts = { start, end, internalTwap: twapOf(INTERNAL), externalTwap: twapOf(EXTERNAL) }
  const pay = (interestRate: string, timeInAuctions: bigint) =>
    fundingPayment({ ...facts, timeInAuctions }, fundingTerms({ interestRate, ...TERMS, ...UNSET })!)
  const { fundingPayment: payment, fundingRate: rate } = pay('0.1', auction.end - auction.start)
  return {
    internal: Number(facts.internalTwap),
    external: Number(facts.externalTwap),
    difference: Number(pay('0', 0n).fundingPayment),
    withInterest: Number(pay('0.1', 0n).fundingPayment),
    payment: Number(payment),
    rate: `${(Number(rate) * 100).toFixed(4)} %`,
  }
}

const nanoseconds = (minutes: number) => BigInt(minutes) * 60_000_000_000n
const inWhole = (hundredths: number) => (hundredths / 100).toLocaleString('en', { minimumFractionDigits: 2 })
const round = (place: number) => Math.round(place * 10) / 10
/** Places in the chart. */
const leftOf = (minute: number) => round(110 + minute * 1.23)
const topOf = (price: number) => round(310 - (price - 2_696_000) * 0.0235)

function fundingPeriod(): string {
  const { internal, external, difference, withInterest, payment, rate } = calculatePeriod()
  const beside = leftOf(END) + 22
  const axes = `M${leftOf(0)} 44V330M${leftOf(END)} 44V330M${leftOf(-30)} 330H${leftOf(END + 16)}`
  const chart = [
    `<path class="auction" d="M${leftOf(AUCTION.start)} 44H${leftOf(AUCTION.end)}V330H${leftOf(AUCTION.start)}z"/>`,
    `<path class="arrow" d="${axes}M${beside - 8} ${topOf(internal)}V${topOf(external)}"/>`,
    ...[26_960, 27_000, 27_040].map((price) => text(42, topOf(price * 100) + 5, price.toLocaleString('en'))),
    ...[0, 120, 240, 360, END].map((minute) => text(leftOf(minute), 350, `0${minute / 60}:00`)),
    ...drawPrices('external', EXTERNAL, external),
    ...drawPrices('internal', INTERNAL, internal),
    text(leftOf(0), 34, 'start', 'title'),
    text(leftOf(195), 34, 'auction: does not count'),
    text(leftOf(END), 34, 'end', 'title'),
    text(leftOf(340), topOf(2_705_500) - 6, 'internal: mark price', 'internal', 'end'),
    text(leftOf(64), topOf(2_697_200) + 20, 'external: oracle price', 'external', 'start'),
    text(beside, topOf(internal), `internal TWAP i = ${inWhole(internal)}`, 'internal', 'start'),
    text(beside, topOf((internal + external) / 2) + 5, `difference ${inWhole(difference)}`, '', 'start'),
    text(beside, topOf(external) + 10, `external TWAP e = ${inWhole(external)}`, 'external', 'start'),
    text(488, 384, 'From the start on, each price counts until the next point. Dotted: TWAPs at the end.'),
  ]
  const boxes: Record<string, Box> = {
    difference: ['outside', 16, 408, 176, 80, 'Difference', '`i - e'],
    interest: ['outside', 262, 408, 176, 80, 'Interest', `clamped to ${inWhole(withInterest - difference)}`],
    auctions: ['outside', 508, 408, 176, 80, 'Auctions', '× (1 - 30 min / 8 h)'],
    payment: ['outside', 754, 408, 206, 80, 'Payment', 'longs pay shorts', `rate ${rate} of e`],
  }
  const arrows: Arrow[] = [
    ['difference.right', 'interest.left', inWhole(difference)],
    ['interest.right', 'auctions.left', inWhole(withInterest)],
    ['auctions.right', 'payment.left', inWhole(payment)],
  ]
  return figure(
    [976, 504],
    'How a funding period runs',
    `Internal and external prices of eight hours, as steps. The internal TWAP is ${inWhole(internal)} at the end, the external one
${inWhole(external)}. Their difference, with interest and reduced for half an hour in auction, gives a payment of ${inWhole(payment)}
from longs to shorts, and a rate of ${rate}.`,
    ...chart,
    diagram(boxes, arrows),
  )
}

/** A source's prices as steps with a mark at each point, and its TWAP at the end of the period. */
function drawPrices(source: 'external' | 'internal', prices: typeof EXTERNAL, twap: number): string[] {
  const steps = prices.map(({ minute, price }) => `${leftOf(minute)}V${topOf(price)}`).join('H')
  const rounding = source === 'external' ? 4 : 0
  return [
    `<path class="${source}" d="M${steps.replace('V', ' ')}H${leftOf(END)}"/>`,
    `<path class="${source} mean" d="M${leftOf(0)} ${topOf(twap)}H${leftOf(END + 16)}"/>`,
    ...prices.map(({ minute, price }) => {
      const [left, top] = [round(leftOf(minute) - 4), round(topOf(price) - 4)]
      return `<rect class="${source} point" x="${left}" y="${top}" width="8" height="8" rx="${rounding}"/>`
    }),
  ]
}

/** The figures, by name of their file. */
export const PICTURES: Record<string, string> = {
  'data-flow.svg': dataFlow(),
  'funding-period.svg': fundingPeriod(),
  'deployment.svg': deployment(),
}

if (import.meta.main) {
  for (const [name, picture] of Object.entries(PICTURES)) writeFileSync(join(PICTURE_FOLDER, name), picture)
  await ensureWebBuilt()
  const browser = await launchBrowser()
  if (browser === null)
    throw new Error('Chromium is not installed: the pictures of the explorer stay as they are')
  const service = await serveSample()
  for (const [name, picture] of await takePictures(browser, service.base)) {
    writeFileSync(join(PICTURE_FOLDER, name), picture)
  }
  await browser.close()
  service.stop()
}

/** Serves the sample in another process, in an empty folder. */
async function serveSample(): Promise<{ base: string; stop: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'lyra-pictures-'))
  const service = spawn(process.execPath, [join(import.meta.dirname, 'start.ts'), '--port', '0'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  service.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  let printed = ''
  for await (const text of service.stdout.setEncoding('utf8')) {
    printed += text
    const base = /^ {2}(http:\/\/[^/\n]+)\//m.exec(printed)?.[1]
    if (base !== undefined) return { base, stop: () => service.kill() }
  }
  throw new Error(`the sample is not served: ${printed}`)
}

import { Command } from 'commander'
import { withOpen } from '#core/concurrency/with-open'
import { describeRanges } from '#core/domain/height-ranges'
import { printable } from '#core/domain/printable'
import { count } from '#core/domain/words'
import { wordsOf } from '#core/model/resource'
import { resourceNamed } from '#core/resources/resources'
import { findStore } from '#core/store/open-store'
import { createLogger } from '#service/log'
import { describePair } from '../compare/compare-rows.ts'
import {
  type Comparison,
  compareSides,
  type Difference,
  type ResourceComparison,
} from '../compare/compare-sides.ts'
import { openServiceSide } from '../compare/service-side.ts'
import type { Side } from '../compare/side.ts'
import { openStoreSide } from '../compare/store-side.ts'
import { EXIT } from './exit.ts'
import { interruptible } from './interrupt.ts'
import { type CommonOptions, jsonOption, logLevelOption } from './options.ts'
import { printJson } from './output.ts'

/** Maximum number of ranges of heights that are listed one by one. */
const SHOWN_RANGES = 20

const NOTES = `
A and B are each a store (the path of a SQLite file, or postgres://user@host/database) or the address of a running
service (http://host:port). One of them may be a Vega data node. Checkpoints and data points are compared over the blocks
that both have. Everything else is compared if both are at the same block. Each resource is compared up to its first
difference. Nothing is changed.

Exit status: 0 no differences, 1 differences or a failure, 2 wrong usage, 130 interrupted.`

type CompareCommandOptions = Pick<CommonOptions, 'logLevel'> & { json: boolean }

/** `lyra compare`: compares the contents of two stores or services. */
export function command(): Command {
  return new Command('compare')
    .description('Compares the rows of two stores or running services, over the blocks that both have.')
    .argument('<A>', 'store, or address of a service')
    .argument('<B>', 'another one')
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(compare)
}

async function compare(
  nameA: string,
  nameB: string,
  { json, logLevel }: CompareCommandOptions,
): Promise<void> {
  const logger = createLogger(logLevel)
  const onStep = (resource: string) => logger.info(`comparing ${wordsOf(resourceNamed(resource))}`)
  const compareNamed = (signal: AbortSignal) =>
    withOpen(openSide(nameA, signal), (a) =>
      withOpen(openSide(nameB, signal), (b) => compareSides(a, b, { signal, onStep })),
    )
  const stores = await Promise.all([nameA, nameB].filter((name) => !isAddress(name)).map(findStore))
  const result = await interruptible(logger, 'interrupted', stores, compareNamed)
  if (result === null) return
  const differs = result.resources.some(({ difference }) => difference !== null)
  if (json) printJson({ same: !differs, ...result })
  else console.log(describeComparison(result))
  if (differs) process.exitCode = EXIT.failure
}

const isAddress = (name: string) => /^https?:\/\//i.test(name)

async function openSide(name: string, signal: AbortSignal): Promise<Side> {
  return isAddress(name) ? openServiceSide(name, signal) : openStoreSide(await findStore(name), signal)
}

function describeComparison({ a, b, heights, resources }: Comparison): string {
  const lines = [
    `A: ${printable(a)}`,
    `B: ${printable(b)}`,
    `in both: ${describeRanges(heights, SHOWN_RANGES)}`,
    '',
  ]
  for (const part of resources) lines.push(...describePart(part))
  const different = resources.filter(({ difference }) => difference !== null).length
  const compared = resources.filter(({ notCompared }) => notCompared === null).length
  lines.push(
    '',
    different === 0
      ? `No difference in the ${compared} resources compared.`
      : `${different} of the ${compared} resources compared differ.`,
  )
  return lines.join('\n')
}

function describePart({
  resource,
  same,
  notCovered,
  lost,
  difference,
  notCompared,
}: ResourceComparison): string[] {
  const title = wordsOf(resourceNamed(resource))
  if (notCompared !== null) return [printable(`${title}: not compared: ${notCompared}`)]
  const rest = notCovered === 0 ? '' : `, ${count(notCovered)} outside the blocks that both have`
  const gone =
    lost === 0
      ? ''
      : `, ${count(lost)} that a data node does not keep (it keeps one point per block, period and source)`
  const head = `${title}: ${count(same)} rows match${rest}${gone}`
  return difference === null
    ? [head]
    : [`${head}; the first difference:`, ...describeRowDifference(difference)]
}

function describeRowDifference({ marketId, key, ...pair }: Difference): string[] {
  const parts = Object.entries({ ...(marketId === null ? {} : { market_id: marketId }), ...key })
  const row = (node: Difference['a']) => (node === null ? 'no such row' : JSON.stringify(node))
  return [
    `  ${parts.map(([column, value]) => `${column} ${value}`).join(', ')}: ${describePair(pair, 'in A', 'in B')}`,
    `  A: ${row(pair.a)}`,
    `  B: ${row(pair.b)}`,
  ].map(printable)
}

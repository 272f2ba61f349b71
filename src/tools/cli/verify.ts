import { Command, InvalidArgumentError } from 'commander'
import { parseDecimal } from '#core/domain/decimal'
import { ID_PREFIX, MARKET_ID } from '#core/domain/ids'
import { MAX_INT64 } from '#core/domain/integers'
import { printable } from '#core/domain/printable'
import { count, wordsOfName } from '#core/domain/words'
import type { FundingParameters } from '#core/events/event'
import type { TwapMethod } from '#core/funding/market-verifier'
import { describeCutOff } from '#core/records/read-records'
import { StoreError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import { createLogger } from '#service/log'
import { countAll } from '../verify/judgements.ts'
import type { GivenParameters } from '../verify/parameters.ts'
import { severalMarkets, type VerifyReport } from '../verify/tally.ts'
import { verifyFiles } from '../verify/verify-files.ts'
import { verifyStore } from '../verify/verify-store.ts'
import { describeVerification, METHOD_NAMES } from './describe-verification.ts'
import { findInput } from './event-input.ts'
import { EXIT } from './exit.ts'
import { interruptible } from './interrupt.ts'
import {
  type CommonOptions,
  InvalidSettingError,
  jsonOption,
  logLevelOption,
  setting,
  storeOption,
} from './options.ts'
import { printJson } from './output.ts'
import { progressLines } from './progress.ts'

const NOTES = `
From event files, reads every event in stream order. From a store, reads its points, auctions and the last event of each
period. A store does not contain the times of market data, on which the closing TWAP depends if a period ends before its
last point; such a TWAP is reported as unknown if it does not match. Everything after a gap or after pruned points is
unknown until the next complete period.

Funding payments and rates are recomputed from the last event of their period if the market's parameters are known: from
market events, or from flags. A flag replaces the value of every verified market; if you give any of these flags, a
parameter known from neither a flag nor a market event counts as unset: no interest, no clamps, no bounds. Event files
also contain the core's estimates for running periods (in market data), which are compared as well. What parties paid
and received for a period, with the losses, must add up to zero apart from rounding, and be zero if the period pays 0.

Exit status: 0 no differences, 1 differences or a failure, 2 wrong usage, 130 interrupted.`

type VerifyCommandOptions = CommonOptions & {
  market: string | null
  seq: bigint | null
  method: TwapMethod
  json: boolean
} & { [flag in keyof typeof FUNDING_FLAGS]: string | null }

/** The flags for funding parameters, with field and meaning. */
const FUNDING_FLAGS = {
  interestRate: ['interestRate', 'interest rate per year, such as 0.1'],
  clampLowerBound: ['clampLowerBound', 'minimum interest component, as a fraction of the external TWAP'],
  clampUpperBound: ['clampUpperBound', 'maximum interest component, as a fraction of the external TWAP'],
  scalingFactor: ['scalingFactor', 'factor that payments are multiplied by'],
  rateLowerBound: ['lowerBound', 'minimum funding rate'],
  rateUpperBound: ['upperBound', 'maximum funding rate'],
} as const satisfies Record<string, readonly [keyof FundingParameters, string]>

/** `lyra verify`: recalculates every TWAP. */
export function command(): Command {
  const verification = new Command('verify')
    .description(
      'Recomputes the TWAP of every data point and funding period, and all funding payments and rates, from event files or a store.',
    )
    .argument('[path...]', 'event files or folders, or - for standard input; default: the store')
    .addOption(storeOption())
    .addOption(
      setting('--market <id>', 'verify this market only, by id or unique prefix', 'lyra verify')
        .default(null, 'all')
        .argParser(parseMarket),
    )
    .addOption(
      setting('--seq <number>', 'verify this funding period only', 'lyra verify')
        .default(null, 'all')
        .argParser(parseSeq),
    )
    .addOption(
      setting('--method <name>', 'compute averages as the core does, or by the plain formula', 'lyra verify')
        .choices(Object.keys(METHOD_NAMES))
        .default('running-sum'),
    )
  for (const [name, [, description]] of Object.entries(FUNDING_FLAGS)) {
    verification.addOption(
      setting(`--${wordsOfName(name, '-')} <number>`, description, 'lyra verify')
        .default(null, "the market's own")
        .argParser(parseParameter),
    )
  }
  return verification
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(verify)
}

function parseParameter(text: string): string {
  if (parseDecimal(text) === null)
    throw new InvalidArgumentError('It must be a decimal number, such as -0.0001.')
  return text
}

/** The funding parameters that flags set. */
function givenParameters(options: VerifyCommandOptions): GivenParameters {
  const given: GivenParameters = {}
  for (const [flag, [parameter]] of Object.entries(FUNDING_FLAGS)) {
    const text = options[flag as keyof typeof FUNDING_FLAGS]
    if (text !== null) given[parameter] = text
  }
  return given
}

function parseMarket(text: string): string {
  if (!MARKET_ID.test(text) && !ID_PREFIX.test(text))
    throw new InvalidArgumentError('It must be 64 hex digits, or the first ones.')
  return text.toLowerCase()
}

function parseSeq(text: string): bigint {
  if (!/^\d{1,19}$/.test(text) || BigInt(text) > MAX_INT64) {
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${MAX_INT64}.`)
  }
  return BigInt(text)
}

async function verify(paths: string[], options: VerifyCommandOptions, command: Command): Promise<void> {
  if (paths.length > 0 && command.getOptionValueSource('store') === 'cli') {
    throw new InvalidSettingError('give either event files or --store, not both')
  }
  const logger = createLogger(options.logLevel)
  const { method, json } = options
  const stores = paths.length === 0 ? [await findStore(options.store)] : []
  const verified = await interruptible(logger, 'interrupted', stores, async (signal) => {
    const shared = {
      method,
      filter: { marketId: options.market, seq: options.seq },
      signal,
      parameters: givenParameters(options),
      onProgress: progressLines(logger, describeVerified),
    }
    const [store] = stores
    if (store !== undefined) {
      const report = await verifyStore(store, shared)
      return { report, failure: null, cutOff: [], isInterrupted: signal.aborted }
    }
    const input = findInput(paths, logger)
    return { ...(await verifyFiles({ input, logger, ...shared })), isInterrupted: signal.aborted }
  })
  if (verified === null) return
  const { report, failure, cutOff, isInterrupted } = verified
  if (failure === null) refuseNothing(report, options)
  if (options.market !== null && report.markets > 1) throw severalMarkets(options.market, report.markets)
  if (json) printJson({ method, ...report, cutOff, error: failure?.message ?? null })
  else console.log([describeVerification(report, method), ...cutOff.map(describeCutOff)].join('\n'))
  if (failure !== null) console.error(`lyra: ${printable(failure.message)}`)
  if (report.differenceCount + report.funding.differenceCount > 0 || failure !== null)
    process.exitCode = EXIT.failure
  else if (isInterrupted) process.exitCode = EXIT.interrupted
}

function describeVerified({ dataPoints, differenceCount, funding }: VerifyReport): string {
  return `${count(countAll(dataPoints))} data points so far, ${differenceCount + funding.differenceCount} differences`
}

/** Refuses a result without TWAPs: a market or period that is not there probably is a mistake. */
function refuseNothing(report: VerifyReport, { market, seq }: VerifyCommandOptions): void {
  if (market === null && seq === null) return
  const { dataPoints, closingTwaps, openingTwaps, closingTwapsOfNoLength } = report
  if ([dataPoints, closingTwaps, openingTwaps, closingTwapsOfNoLength].some(countAll)) return
  const of = [
    ...(seq === null ? [] : [`funding period ${seq}`]),
    ...(market === null ? [] : [`a market whose id begins with ${market}`]),
  ]
  throw new StoreError(
    `no TWAP found of ${of.join(' of ')}; without --market and --seq everything is verified`,
  )
}

import type {
  LiquidityProvider,
  LiquidityProviderEpoch,
  LiquidityStandingAnswer,
  ProviderStanding,
} from 'lyra-client'
import type { Unit } from '../figures/amount.ts'
import { multiply, ONE, parseDecimal, ratio, writeDecimal } from '../figures/decimal.ts'
import { formatPart, formatPercent, groupDigits } from '../figures/format-figure.ts'
import { formatAge } from '../figures/format-time.ts'
import { Answer } from '../parts/states/states.tsx'
import { Amount, Rounded } from '../parts/values/amount.tsx'
import { AsOf } from '../parts/values/as-of.tsx'
import { DueTime } from '../parts/values/due-time.tsx'
import { Figure } from '../parts/values/figure.tsx'
import { latestCoverage } from '../service/coverage.ts'
import { isOutdated } from '../service/freshness.ts'
import { instrumentOf, marketUnit } from '../service/instruments.ts'
import { describeMissing } from '../service/missing.ts'
import type { Query } from '../service/use-query.ts'
import { NotifyOfProvider } from '../watches/notify-me.tsx'
import { isPenalty } from './columns.ts'
import { earnedOf } from './epochs.ts'
import { Bar, isBelow } from './provider-figure.tsx'
import { areProvisionsKnown } from './provisions.ts'
import { formatAtLeast, lastEpochOf, neededOf, penaltyIfStayed } from './standing.ts'

export type StandingPanelProps = {
  query: Query<LiquidityStandingAnswer>
  marketId: string
  partyId: string
  /** The provider's figures now; null if it has left the market. */
  now: LiquidityProvider | null
  /** The newest epoch of the provider that has ended; undefined if none is known. */
  newest: LiquidityProviderEpoch | undefined
}

/** How a provider stands on a market in the running epoch: how long it must stay, and what leaving would cost. */
export function StandingPanel({ query, marketId, partyId, now, newest }: StandingPanelProps) {
  const [standing] = query.data?.liquidityStanding ?? []
  const epoch = standing?.epoch ?? null
  return (
    <section class="panel" aria-labelledby="standing-title">
      <div class="panel-head">
        <h2 id="standing-title">
          {epoch === null ? 'The running epoch' : `Epoch ${groupDigits(epoch)}, running`}
        </h2>
        <NotifyOfProvider marketId={marketId} partyId={partyId} />
      </div>
      <Answer query={query} what="the running epoch">
        {({ liquidityStanding: [standing], ...missing }) =>
          standing === undefined ? (
            <p class="quiet">
              {areProvisionsKnown()
                ? 'It has no provision on this market now.'
                : 'No provision of it on this market is stored, and blocks are missing.'}
            </p>
          ) : (
            <>
              <MissingOfEpoch standing={standing} missing={missing.missing} />
              <StandingFigures
                standing={standing}
                ifStayed={penaltyIfStayed(standing, now?.sla ?? null, instrumentOf(marketId)?.sla ?? null)}
                newest={newest}
                unit={marketUnit(marketId)}
              />
            </>
          )
        }
      </Answer>
    </section>
  )
}

/** Blocks that are missing within the epoch, or about its beginning. */
function MissingOfEpoch({
  standing: { epochStart },
  missing,
}: {
  standing: ProviderStanding
  missing: LiquidityStandingAnswer['missing']
}) {
  const within = missing.filter(
    ({ end }) => end === null || epochStart === null || BigInt(end) >= BigInt(epochStart),
  )
  const text = describeMissing('epochs', { missing: within, since: null })
  return text === null ? null : (
    <p class="notice" data-figure="missing">
      {text}
    </p>
  )
}

type StandingFiguresProps = {
  standing: ProviderStanding
  /** The fee penalty if it stays to the end; null if it is not known. */
  ifStayed: string | null
  newest: LiquidityProviderEpoch | undefined
  unit: Unit | null
}

function StandingFigures({ standing, ifStayed, newest, unit }: StandingFiguresProps) {
  const last = lastEpochOf(standing, newest)
  return (
    <div class="now-figures standing">
      <StillNeeded standing={standing} />
      <TimeOnBook standing={standing} />
      <IfLeft standing={standing} ifStayed={ifStayed} last={last} unit={unit} />
      <EpochEnd standing={standing} />
      <LastEpoch last={last} unit={unit} />
    </div>
  )
}

function StillNeeded({ standing }: { standing: ProviderStanding }) {
  const { minimum, stillNeeded } = standing
  const needed = neededOf(standing)
  const least = minimum === null ? '' : `the minimum of ${formatPercent(minimum)}`
  const main = {
    reached: 'None',
    'out of reach': 'Out of reach',
    possible: needed?.state === 'possible' ? formatAtLeast(needed.time) : '',
  }
  return (
    <Figure
      name="Still needed on the book"
      main={
        needed === null ? null : (
          <span class={needed.state === 'out of reach' ? 'bad' : undefined} data-figure="still-needed">
            {main[needed.state]}
          </span>
        )
      }
      none="Not known"
      stale={isOutdated.value}
    >
      {needed?.state === 'reached' && <span class="figure-more">{least} is reached</span>}
      {needed?.state === 'out of reach' && (
        <span class="figure-more">
          {least} takes more than the remaining {formatAge(needed.remaining)}
        </span>
      )}
      {needed?.state === 'possible' && (
        <span class="figure-more">
          of the remaining {formatAge(needed.remaining)} (
          <Rounded text={stillNeeded!} shown={formatPart(stillNeeded!)} name="still-needed-part" />
          ), to reach {least}
        </span>
      )}
    </Figure>
  )
}

function TimeOnBook({ standing }: { standing: ProviderStanding }) {
  const { at, timeOnBook, minimum, elapsed, ifLeft } = standing
  return (
    <Figure
      name="Time on book so far"
      main={
        timeOnBook === null ? null : (
          <Rounded text={timeOnBook} shown={formatPart(timeOnBook)} name="standing-book" />
        )
      }
      none="Not known: the core has sent none in this epoch"
      stale={isOutdated.value}
    >
      {ifLeft !== null && (
        <span class="figure-more">
          {formatPart(ifLeft)} of the whole epoch
          <Bar part={parseDecimal(ifLeft)!} least={minimum} />
        </span>
      )}
      {minimum !== null && <span class="figure-more">required: {formatPercent(minimum)}</span>}
      {elapsed !== null && <span class="figure-more">{formatPart(elapsed)} of the epoch has passed</span>}
      {at !== null && <AsOf time={at} />}
    </Figure>
  )
}

function EpochEnd({ standing: { epochExpectedEnd } }: { standing: ProviderStanding }) {
  return (
    <Figure
      name="Epoch ends, as expected"
      main={
        epochExpectedEnd === null ? null : (
          <DueTime
            due={BigInt(epochExpectedEnd)}
            last={BigInt(latestCoverage()?.blocks.lastTimestamp ?? 0)}
          />
        )
      }
      none="Not known: it follows from the epoch before"
    />
  )
}

type WithLast = {
  /** The last epoch; null if it is not stored. */
  last: LiquidityProviderEpoch | null
  unit: Unit | null
}

type IfLeftProps = WithLast & Pick<StandingFiguresProps, 'standing' | 'ifStayed'>

function IfLeft({ standing, ifStayed, last, unit }: IfLeftProps) {
  const { ifLeft, feePenaltyIfLeft, minimum } = standing
  const cost = partOf(last?.feesPaid ?? null, feePenaltyIfLeft)
  return (
    <Figure
      name="Leaving now would cost"
      main={
        feePenaltyIfLeft === null ? null : (
          <>
            <Rounded
              text={feePenaltyIfLeft}
              shown={formatPart(feePenaltyIfLeft)}
              name="penalty-if-left"
              bad={isPenalty(feePenaltyIfLeft)}
            />{' '}
            of its fees
          </>
        )
      }
      none="Not known"
      stale={isOutdated.value}
    >
      {ifLeft !== null && (
        <span class="figure-more">
          time on book {formatPart(ifLeft)} of the epoch
          {minimum !== null && `, ${isBelow(ifLeft, minimum) ? 'below' : 'at least'} the minimum`}
        </span>
      )}
      {ifStayed !== null && (
        <span class="figure-more">
          staying to the end <Rounded text={ifStayed} shown={formatPart(ifStayed)} name="penalty-if-stayed" />
        </span>
      )}
      {cost !== null && (
        <span class="figure-more">
          with fees as in epoch {groupDigits(last!.epoch)}:{' '}
          <Amount text={cost} unit={unit} places={2} name="cost-if-left" />
        </span>
      )}
    </Figure>
  )
}

function LastEpoch({ last, unit }: WithLast) {
  const earned = last === null ? null : earnedOf(last)
  const feesPaid = last?.feesPaid ?? null
  return (
    <Figure
      name={last === null ? 'Fees of the last epoch' : `Fees of epoch ${groupDigits(last.epoch)}`}
      main={feesPaid === null ? null : <Amount text={feesPaid} unit={unit} places={2} name="last-fees" />}
      none={last === null ? 'No figures of the last epoch are stored' : 'The core reported none'}
    >
      {earned !== null && (
        <span class="figure-more">
          earned <Amount text={earned} unit={unit} places={2} name="last-earned" /> after a fee penalty of{' '}
          {formatPart(last!.feePenalty!)}
        </span>
      )}
    </Figure>
  )
}

/** A part of an amount, cut to its smallest unit; null if either is not known. */
function partOf(amount: string | null, part: string | null): string | null {
  const [whole, fraction] = [parseDecimal(amount ?? ''), parseDecimal(part ?? '')]
  return whole === null || fraction === null
    ? null
    : writeDecimal(ratio(multiply(whole, fraction), ONE, 0, 0)!)
}

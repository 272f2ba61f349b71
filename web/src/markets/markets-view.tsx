import type { MarketSummary } from 'lyra-client'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { unitOf } from '../figures/amount.ts'
import { param, setParams } from '../location.ts'
import { useNarrow } from '../parts/narrow.ts'
import { Segments } from '../parts/pickers/segments.tsx'
import { CopyLink, Request } from '../parts/request.tsx'
import { beforeCoverage } from '../parts/states/before-coverage.tsx'
import { lazy } from '../parts/states/lazy.tsx'
import { Answer, Empty } from '../parts/states/states.tsx'
import { Pages, pageOf } from '../parts/tables/pages.tsx'
import { latestCoverage } from '../service/coverage.ts'
import { MARKET_ID, marketMatches } from '../service/markets.ts'
import { SUMMARIES_URL } from '../service/summary.ts'
import { useSummaries } from '../service/use-summaries.ts'
import { HeatMap } from './heat-map.tsx'
import { inOrder, MarketsTable, MOST_COMPARED, readBasis } from './markets-table.tsx'
import { RATE_BASES } from './rates.ts'

/** Rows of a page: of all markets of a large network they would keep a browser busy for seconds. */
const ROWS = 100

const Compare = lazy('the chart', async () => (await import('./compare.tsx')).Compare)

/** Every market at a glance, and the rates of several in one chart. */
export function MarketsView() {
  const coverage = latestCoverage()
  const query = useSummaries()
  const { data } = query
  const wanted = (param('find') ?? '').trim()
  const compared = (param('compare') ?? '')
    .split(',')
    .filter((id) => MARKET_ID.test(id))
    .slice(0, MOST_COMPARED)
  const isComparing = compared.length > 0
  const ticked = useRef<{ box: Element; top: number } | null>(null)
  // The chart opens above the list: the row that was just ticked stays where it was seen.
  useLayoutEffect(() => {
    if (ticked.current === null) return
    const { box, top } = ticked.current
    ticked.current = null
    scrollBy({ top: box.getBoundingClientRect().top - top, behavior: 'instant' })
  }, [isComparing])
  const basis = readBasis()
  const bar = (
    <>
      <div class="view-bar">
        <label class="field grow">
          <span class="field-label">Find a market by code, name or id</span>
          <input
            type="search"
            value={param('find') ?? ''}
            spellcheck={false}
            onInput={(event) =>
              setParams({ find: event.currentTarget.value || null, page: null }, { push: false })
            }
          />
        </label>
        <div class="field">
          <span class="field-label" aria-hidden="true">
            Rates per
          </span>
          <Segments label="Rates per" name="per" choices={RATE_BASES} chosen={basis} byDefault="8h" />
        </div>
        <span class="bar-actions">
          <CopyLink />
        </span>
      </div>
      {isComparing && (
        <div class="compare-place">{coverage !== null && <Compare marketIds={compared} basis={basis} />}</div>
      )}
    </>
  )
  const before = beforeCoverage('markets', bar)
  if (before !== null) return before
  const found = inOrder(
    (data ?? []).filter(({ marketId }) => marketMatches(marketId, wanted)),
    basis,
  )
  const pages = pageOf('page', found.length, ROWS)
  const listed = found.slice(pages.first, pages.first + ROWS)
  return (
    <>
      {bar}
      <section class="panel" aria-label="Markets">
        <Answer query={query} what="markets" tall>
          {(all) =>
            found.length === 0 ? (
              <Empty title={all.length === 0 ? 'No markets yet' : 'No market has that code, name or id'}>
                {all.length === 0 ? 'No market data has been ingested yet.' : undefined}
              </Empty>
            ) : (
              <MarketsTable
                basis={basis}
                summaries={listed}
                compared={compared}
                onCompare={(ids, box) => {
                  ticked.current = { box, top: box.getBoundingClientRect().top }
                  setParams({ compare: ids.join(',') || null })
                }}
              />
            )
          }
        </Answer>
        <Pages {...pages} what="markets" />
        {found.some(
          ({ instrument, lastExternalPoint }) => lastExternalPoint && unitOf(instrument) === null,
        ) && (
          <p class="quiet">
            Some prices are shown as sent, as whole numbers: the store has no event with the asset of their
            market.
          </p>
        )}
        {listed.some(isThirtyDaysMissing) && (
          <p class="quiet">
            An average over 30 days is shown only if every funding period of that time is known to be stored.
          </p>
        )}
        {found.length > 1 && !isComparing && (
          <p class="quiet">Tick markets to compare their funding rates in one chart.</p>
        )}
        {data !== null && (
          <Request url={SUMMARIES_URL} csv={`${location.origin}/api/v2/market-summaries?format=csv`} />
        )}
      </section>
      {listed.some(({ lastPaidPeriod }) => lastPaidPeriod !== null) && <MapPlace summaries={listed} />}
    </>
  )
}

/** Whether a market has been paid, and its average over 30 days is not known. */
function isThirtyDaysMissing({ averages, lastPaidPeriod }: MarketSummary): boolean {
  return averages['30d'] === null && averages['7d'] !== null && lastPaidPeriod !== null
}

/** The map of funding; on a phone it is folded, and asked for when it is opened, or if the address names it. */
function MapPlace({ summaries }: { summaries: readonly MarketSummary[] }) {
  const [open, setOpen] = useState(param('map') !== null)
  const narrow = useNarrow()
  if (!narrow) return <HeatMap summaries={summaries} />
  return (
    <details class="fold" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Map of funding by market and time</summary>
      {open && <HeatMap summaries={summaries} />}
    </details>
  )
}

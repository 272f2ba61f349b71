import { groupDigits } from '../figures/format-figure.ts'
import { param } from '../location.ts'
import { CopyLink, Request } from '../parts/request.tsx'
import { beforeCoverage } from '../parts/states/before-coverage.tsx'
import { MissingRows } from '../parts/states/missing-rows.tsx'
import { Answer, Empty } from '../parts/states/states.tsx'
import { Pager } from '../parts/tables/pager.tsx'
import { latestCoverage } from '../service/coverage.ts'
import { lyra } from '../service/lyra.ts'
import { useChanges } from '../service/use-changes.ts'
import { useQuery } from '../service/use-query.ts'
import { CheckpointsTable } from './checkpoints-table.tsx'
import { HeightForm } from './height-form.tsx'

const ROWS = 50

/** The checkpoints of the network, newest first. */
export function CheckpointsView() {
  const after = param('after') ?? undefined
  const before = param('before') ?? undefined
  const height = param('height')
  const first = after === undefined && before === undefined
  const page = before === undefined ? { first: ROWS, after } : { last: ROWS, before }
  const stored = latestCoverage()?.checkpoints
  const { rows: count, version } = useChanges(
    stored === undefined ? null : 'checkpoints',
    (client, options) => client.streamCheckpoints({}, options),
  )
  const url = lyra.url('checkpoints', {}, page)
  const query = useQuery(
    stored === undefined ? null : url,
    (signal) => lyra.checkpointsPage({}, { ...page, signal }),
    { version: first ? version : '', list: 'checkpoints' },
  )
  const bar = (
    <div class="view-bar">
      <HeightForm key={height ?? ''} height={height} isPlaced={!first} />
      {stored !== undefined && <span class="quiet">{groupDigits(stored.count)} checkpoints stored</span>}
      {count > 0 && first && <span class="live-count">+{groupDigits(String(count))}</span>}
      <span class="bar-actions">
        <CopyLink />
      </span>
    </div>
  )
  const greeting = beforeCoverage('checkpoints', bar)
  if (greeting !== null) return greeting
  return (
    <>
      {bar}
      <section class="panel" aria-label="List of checkpoints">
        <MissingRows resource="checkpoints" range={{ from: null, to: null }} />
        <Answer query={query} what="checkpoints">
          {(data) => (
            <>
              {data.rows.length === 0 ? (
                <Empty title={first ? 'No checkpoints yet' : 'No checkpoints here'}>
                  {first ? 'No checkpoint has been ingested yet.' : 'There are no further checkpoints.'}
                </Empty>
              ) : (
                <CheckpointsTable checkpoints={data.rows.map(({ node }) => node)} height={height} />
              )}
              <Pager page={data} what="checkpoints" />
            </>
          )}
        </Answer>
        <Request url={url} csv={lyra.url('checkpoints', {}, { format: 'csv' })} />
      </section>
    </>
  )
}

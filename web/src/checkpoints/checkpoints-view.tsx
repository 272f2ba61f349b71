import { LyraApiError } from 'lyra-client'
import { useEffect, useState } from 'preact/hooks'
import { groupDigits } from '../figures/format-figure.ts'
import { param } from '../location.ts'
import { Pager } from '../parts/pager.tsx'
import { Request } from '../parts/request.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { latestCoverage } from '../service/coverage.ts'
import { followStream } from '../service/follow-stream.ts'
import { lyra } from '../service/lyra.ts'
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
  const { count, version } = useNewCheckpoints()
  const page = before === undefined ? { first: ROWS, after } : { last: ROWS, before }
  const url = lyra.url('checkpoints', {}, page)
  const { data, error, reload } = useQuery(
    `${url} ${first ? version : ''}`,
    (signal) => lyra.checkpointsPage({}, { ...page, signal }),
    { keep: true },
  )
  const held = latestCoverage()?.checkpoints
  return (
    <>
      <div class="view-bar">
        <HeightForm key={height ?? ''} height={height} />
        {held !== undefined && <span class="quiet">{groupDigits(held.count)} checkpoints held</span>}
        {count > 0 && first && <span class="live-count">+{groupDigits(String(count))}</span>}
      </div>
      <section class="panel" aria-label="List of checkpoints">
        <Request url={url} />
        {error !== null && <Failure error={error} onRetry={reload} />}
        {data === null && error === null && <Loading what="checkpoints" />}
        {data !== null && data.rows.length === 0 && error === null && (
          <Empty title={first ? 'No checkpoints yet' : 'No checkpoints here'}>
            {first ? 'No block so far had one in it.' : 'The list ends before this place.'}
          </Empty>
        )}
        {data !== null && data.rows.length > 0 && (
          <CheckpointsTable checkpoints={data.rows.map(({ node }) => node)} height={height} />
        )}
        {data !== null && <Pager page={data} what="checkpoints" />}
      </section>
    </>
  )
}

/** How many checkpoints the stream has brought, and what changes whenever there may be new ones. */
function useNewCheckpoints(): { count: number; version: string } {
  const [count, setCount] = useState(0)
  const [resumed, setResumed] = useState(0)
  const [streams, setStreams] = useState(true)
  const held = latestCoverage()?.checkpoints.count ?? ''
  useEffect(() => {
    const stop = new AbortController()
    followStream((options) => lyra.streamCheckpoints({}, options), {
      signal: stop.signal,
      onRow: () => setCount((known) => known + 1),
      onResume: () => setResumed((known) => known + 1),
    }).catch((error) => {
      if (error instanceof LyraApiError) setStreams(false)
    })
    return () => stop.abort()
  }, [])
  return { count, version: `${count} ${resumed} ${streams ? '' : held}` }
}

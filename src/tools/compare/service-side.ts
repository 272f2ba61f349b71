import type { Resource } from '#core/model/resource'
import { checkpoints } from '#core/resources/checkpoints/description'
import { COVERAGE_PATH } from '#service/questions/coverage-body'
import { parsedAnswer, ServiceError, serviceAt } from '../status/ask-service.ts'
import { wholeCoverage } from '../status/service-status.ts'
import { CompareError } from './compare-error.ts'
import {
  type ComparedRow,
  HeightMovedError,
  hasHiddenKey,
  keyOfCursor,
  keyOfNode,
  type Side,
  type SideCoverage,
} from './side.ts'
import { coverageOfBody } from './store-side.ts'

/** The longest page that Lyra and the reference both allow. */
const PAGE_ROWS = 5_000

type PageBody = {
  edges: { cursor: string; node: ComparedRow['node'] }[]
  pageInfo: { hasNextPage: boolean; endCursor: string }
}

/**
 * A running service, or a Vega data node, by its address.
 *
 * @throws {ServiceError} if it is unreachable, or its answer is from neither.
 * @throws {CompareError} if it has no blocks.
 */
export async function openServiceSide(address: string, signal: AbortSignal): Promise<Side> {
  const base = address.replace(/\/+$/, '')

  const ask = serviceAt(base)
  const get = (path: string, allowed?: readonly number[]) => ask(path, allowed, signal)
  const heightOf = ({ headers }: { headers: Headers }) => {
    const height = headers.get('x-block-height') ?? ''
    if (/^\d{1,19}$/.test(height)) return BigInt(height)
    throw new ServiceError(
      `${base}: response without X-Block-Height; this is not the address of a Lyra service or Vega data node`,
    )
  }
  const height = async () => heightOf(await get(`${checkpoints.path}?pagination.first=1`))

  const answer = await get(COVERAGE_PATH, [200, 404, 501, 503])
  const isReference = answer.status === 404 || answer.status === 501
  if (answer.status === 503) throw new CompareError(`${base}: the store is empty or cannot be read (503)`)
  const coverage = isReference
    ? coverageOfReference(await height())
    : coverageOfBody({ coverage: await wholeCoverage(base, ask, answer, signal) })
  if (coverage.heights.length === 0)
    throw new CompareError(`${base}: the store is empty; there is nothing to compare`)

  return {
    name: base,
    coverage,
    isLive: true,
    isReference,
    height,
    async *rows(resource, marketId, atHeight) {
      const [path, filters] = listTarget(resource, marketId)
      let after = ''
      for (;;) {
        const query = new URLSearchParams({
          ...filters,
          'pagination.first': String(PAGE_ROWS),
          'pagination.newestFirst': 'false',
          ...(after === '' ? {} : { 'pagination.after': after }),
        })
        const answer = await get(`${path}?${query}`)
        if (atHeight !== null && heightOf(answer) !== atHeight) throw new HeightMovedError()
        const page = parsedAnswer<Record<string, PageBody | undefined>>(base, answer)[resource.bodyKey]
        if (!isPage(page)) throw new ServiceError(`${base}${path}: not a page of ${resource.name}`)
        yield page.edges.map(({ node, cursor }) => ({
          key: hasHiddenKey(resource) ? keyOfCursor(resource, cursor, base) : keyOfNode(resource, node, base),
          node,
        }))
        const { hasNextPage, endCursor } = page.pageInfo
        if (!hasNextPage) return
        if (endCursor === after || page.edges.length === 0) {
          throw new ServiceError(`${base}${path}: the pages do not advance after cursor ${endCursor}`)
        }
        after = endCursor
      }
    },
    blockOf: async () => null,
    pointsBeside: async () => null,
    close: async () => {},
  }
}

/** The path of a list, with the parameters that select all rows, or a market. */
function listTarget(
  resource: Resource,
  marketId: string | null,
): [path: string, filters: Record<string, string>] {
  if (marketId === null) return [resource.path, resource.wholeList ?? {}]
  return resource.path.includes(':marketId')
    ? [resource.path.replace(':marketId', marketId), {}]
    : [resource.path, { marketId }]
}

function isPage(page: PageBody | undefined): page is PageBody {
  return (
    Array.isArray(page?.edges) &&
    page.edges.every(({ node }) => typeof node === 'object' && node !== null) &&
    typeof page.pageInfo?.hasNextPage === 'boolean' &&
    typeof page.pageInfo.endCursor === 'string'
  )
}

/** The coverage of a data node, which reports neither its gaps nor its markets. */
function coverageOfReference(height: bigint): SideCoverage {
  return {
    chainId: null,
    heights: height === 0n ? [] : [{ from: 1n, to: height }],
    imported: [],
    timestamp: null,
    isPruned: true,
    markets: () => [],
  }
}

import { type Figure, figure } from './figures.ts'
import { withLiveService } from './live-service.ts'
import { percentile } from './load.ts'
import { soak } from './soak.ts'

const SECONDS = 30

/**
 * From the end of a block that a core sends to the first reader that sees it, at 1,000 events and 200 requests a
 * second.
 */
export async function measureVisibility(): Promise<Figure[]> {
  const { lags, failures } = await withLiveService((service) => soak(service, SECONDS))
  if (failures.length > 0) throw new Error(`requests that failed: ${failures.slice(0, 3).join(', ')}`)
  return [
    figure('from the end of a block to readers: p50', percentile(lags, 0.5), 'ms'),
    figure('from the end of a block to readers: p99', percentile(lags, 0.99), 'ms', {
      target: { most: 100 },
    }),
  ]
}

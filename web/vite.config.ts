import { existsSync } from 'node:fs'
import { defaultClientConditions, defineConfig } from 'vite'

const here = (path: string) => new URL(path, import.meta.url).pathname

/** Whether a module is one of these files, or in one of these folders. Fails if one is gone: its modules would load with others. */
function among(...names: string[]): (id: string) => boolean {
  const paths = names.map(here)
  const missing = paths.filter((path) => !existsSync(path))
  if (missing.length > 0) throw new Error(`vite.config.ts names what is not there: ${missing.join(', ')}`)
  return (id) => paths.some((path) => id === path || id.startsWith(`${path}/`))
}

/** What charts need. */
const isOfCharts = among(
  'src/charts',
  'src/range/range-bar.tsx',
  'src/funding/data/days.ts',
  'src/payments/payments.ts',
)

/** What both pages need. */
const isOfBase = among(
  'src/theme.ts',
  '../src/core/domain',
  'src/styles/tokens.css',
  'src/styles/base.css',
  'src/styles/controls.css',
  'src/styles/layout.css',
)

/** What all views of the explorer need. */
const isShared = among(
  '../client',
  'src/figures',
  'src/parts',
  'src/periods',
  'src/saved',
  'src/series',
  'src/service',
  'src/location.ts',
  'src/range/view-range.ts',
  'src/funding/data/requests.ts',
  'src/markets/rates.ts',
  'src/providers/requests.ts',
)

/** What few views need of those folders, or what loads later. */
const isRare = among(
  'src/charts/gap-times.ts',
  'src/parts/copy-exactly.ts',
  'src/parts/csv',
  'src/parts/states/greeting.tsx',
  'src/parts/values/network.tsx',
  'src/service/use-standing.ts',
  'src/service/use-summaries.ts',
)

/** Two pages, with everything they load in files of their own: the service sends no inline script or style. */
export default defineConfig({
  root: here('.'),
  // Workspaces give their sources under this condition.
  resolve: { conditions: ['source', ...defaultClientConditions] },
  build: {
    outDir: here('../dist/web'),
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      input: { explorer: here('index.html'), reference: here('reference.html') },
      output: {
        codeSplitting: {
          // Few files: what each view alone needs, what charts need, what all views need, and what both pages do.
          includeDependenciesRecursively: false,
          groups: [
            {
              name: 'charts',
              test: (id) => id.includes('uPlot.esm') || (isOfCharts(id) && !isRare(id)),
            },
            {
              name: 'base',
              test: (id) => /preact|preload-helper/.test(id) || isOfBase(id),
            },
            {
              name: 'shared',
              test: (id) => isShared(id) && !isRare(id),
            },
          ],
        },
      },
    },
  },
})

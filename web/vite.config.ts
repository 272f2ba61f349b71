import { defaultClientConditions, defineConfig } from 'vite'

const here = (path: string) => new URL(path, import.meta.url).pathname

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
              test: /uPlot\.esm|\/src\/charts\/(?!gap-times)|\/(range-bar|days|payments)\.tsx?/,
            },
            {
              name: 'base',
              test: /preact|\/src\/theme|core\/domain|preload-helper|styles\/(tokens|base|controls|layout)/,
            },
            {
              name: 'shared',
              test: /\/client\/|\/src\/(figures|parts|periods|series|service)\/(?!readable-csv|copy-exactly|csv|save-text|greeting|network|use-(?:summaries|standing))|\/(location|view-range|requests|markets\/rates)\.tsx?/,
            },
          ],
        },
      },
    },
  },
})

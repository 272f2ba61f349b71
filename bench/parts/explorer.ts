import type { Browser } from 'playwright-core'
import { launchBrowser } from '../../test/fixtures/explorer/launch-browser.ts'
import { type Figure, figure, median } from '../figures.ts'

const VIEWS = ['markets', 'funding', 'providers', 'checkpoints', 'node']

/** Times that each view is opened, each by a browser context with an empty cache. */
const TIMES = 7

/** A view must show something within half a second, on loopback, and everything within a second. */
const MOST_SECONDS = { paint: 0.5, whole: 1 }

/**
 * Times until views of the explorer show something, and everything; none without Chromium.
 *
 * @param of what the names of the figures say of the store, after the view's name
 */
export async function measureExplorer(
  base: string,
  views: readonly string[] = VIEWS,
  of = '',
): Promise<Figure[]> {
  const browser = await launchBrowser()
  if (browser === null) {
    console.log('Chromium is not installed: figures of the explorer are left out')
    return []
  }
  try {
    const figures: Figure[] = []
    for (const view of views) {
      const target = `${base}/?view=${view}`
      await openView(browser, target)
      const opened: Opened[] = []
      for (let i = 0; i < TIMES; i++) opened.push(await openView(browser, target))
      figures.push(
        figure(`explorer: ${view}${of} shows something`, median(opened.map(({ paint }) => paint)), 's', {
          target: { most: MOST_SECONDS.paint },
        }),
        figure(`explorer: ${view}${of} shows everything`, median(opened.map(({ whole }) => whole)), 's', {
          target: { most: MOST_SECONDS.whole },
        }),
      )
    }
    return figures
  } finally {
    await browser.close()
  }
}

/** Seconds from asking for a page until it shows something, and until nothing on it is loading any more. */
type Opened = { paint: number; whole: number }

/** The browser may report the first paint after everything is loaded. */
const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [entry] = list.getEntriesByName('first-contentful-paint')
    if (entry !== undefined) resolve(entry.startTime)
  }).observe({ type: 'paint', buffered: true })
})`

async function openView(browser: Browser, target: string): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  try {
    const page = await context.newPage()
    const startedAt = performance.now()
    await page.goto(target, { waitUntil: 'commit' })
    await page.locator('.request').first().waitFor()
    await page.locator('.skeleton, [aria-busy="true"]').first().waitFor({ state: 'detached' })
    const whole = (performance.now() - startedAt) / 1000
    const paint = await page.evaluate<number>(FIRST_PAINT)
    return { paint: paint / 1000, whole }
  } finally {
    await context.close()
  }
}

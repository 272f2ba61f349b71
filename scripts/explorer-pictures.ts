// The pictures of the explorer in docs/images, of the sample that `npm start` loads.
import type { Browser, Page } from 'playwright-core'
import { SAMPLE_MARKET, SAMPLE_PARTY } from './sample.ts'

const FUNDING = `/?view=funding&market=${SAMPLE_MARKET}&span=30d`
const CHARTS = '.chart-panel[aria-busy="false"] .notes'

type Shot = {
  path: string
  scheme: 'light' | 'dark'
  height: number /** Selector of the last part to appear. */
  last: string
}

const SHOTS: Record<string, Shot> = {
  'explorer-funding-light.png': { path: FUNDING, scheme: 'light', height: 660, last: CHARTS },
  'explorer-funding-dark.png': { path: FUNDING, scheme: 'dark', height: 660, last: CHARTS },
  'explorer-markets.png': { path: '/', scheme: 'light', height: 1075, last: '.heat-map tbody td' },
  'explorer-party.png': {
    path: `/?view=party&party=${SAMPLE_PARTY}&span=30d`,
    scheme: 'light',
    height: 925,
    last: '[data-chart="cumulative"] canvas',
  },
}

export const EXPLORER_PICTURES = Object.keys(SHOTS)

/** How long nothing on a page may change before it counts as settled. */
const SETTLED_MS = 300

/** A picture of a page that no answer changes any more. */
async function settledPicture(page: Page): Promise<Buffer> {
  let picture = await page.screenshot()
  for (;;) {
    await page.waitForTimeout(SETTLED_MS)
    const next = await page.screenshot()
    if (next.equals(picture)) return picture
    picture = next
  }
}

/** Takes the pictures from a service at `base`: by name of the file. */
export async function takePictures(browser: Browser, base: string): Promise<Map<string, Buffer>> {
  const pictures = new Map<string, Buffer>()
  for (const [name, { path, scheme, height, last }] of Object.entries(SHOTS)) {
    const viewport = { width: 1200, height }
    const context = await browser.newContext({ viewport, colorScheme: scheme, reducedMotion: 'reduce' })
    const page = await context.newPage()
    await page.goto(base + path)
    await page.waitForSelector(last)
    await page.locator('.skeleton, [aria-busy="true"]').first().waitFor({ state: 'detached' })
    pictures.set(name, await settledPicture(page))
    await context.close()
  }
  return pictures
}

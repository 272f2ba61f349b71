import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { PICTURE_FOLDER } from '../scripts/build-pictures.ts'
import { takePictures } from '../scripts/explorer-pictures.ts'
import { explorerTest } from './fixtures/explorer.ts'
import { storeOf } from './fixtures/service.ts'
import { MONTH } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

/** Part of a picture that may differ: fonts and their smoothing are not the same everywhere. */
const MOST_DIFFERENT = 0.05

explorerTest(
  'the pictures of the documentation show the explorer as it is (npm run build:pictures)',
  async ({ t, browser, open }) => {
    const { page, base } = await open(await storeOf(t, STORE_KINDS[0]!, MONTH))
    for (const [name, picture] of await takePictures(browser, base)) {
      const different = await differenceOf(page, readFileSync(join(PICTURE_FOLDER, name)), picture)
      assert.ok(
        different <= MOST_DIFFERENT,
        `${name}: ${(100 * different).toFixed(1)} % of the picture differ`,
      )
    }
  },
)

/** The part of the squares of 8 x 8 pixels whose mean colour differs visibly; 1 if the sizes differ. */
function differenceOf(page: Page, ...pictures: [Buffer, Buffer]): Promise<number> {
  return page.evaluate(
    `(async ([a, b]) => {
      const meansOf = async (text) => {
        const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0))
        const bitmap = await createImageBitmap(new Blob([bytes]))
        const [width, height] = [Math.floor(bitmap.width / 8), Math.floor(bitmap.height / 8)]
        const canvas = new OffscreenCanvas(width, height).getContext('2d')
        canvas.imageSmoothingQuality = 'high'
        canvas.drawImage(bitmap, 0, 0, width, height)
        return { width, height, data: canvas.getImageData(0, 0, width, height).data }
      }
      const [one, other] = [await meansOf(a), await meansOf(b)]
      if (one.width !== other.width || one.height !== other.height) return 1
      let different = 0
      for (let at = 0; at < one.data.length; at += 4) {
        if ([0, 1, 2].some((color) => Math.abs(one.data[at + color] - other.data[at + color]) > 24)) different++
      }
      return different / (one.data.length / 4)
    })(${JSON.stringify(pictures.map((picture) => picture.toString('base64')))})`,
  )
}

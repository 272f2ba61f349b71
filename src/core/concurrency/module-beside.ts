import { extname } from 'node:path'

/**
 * The URL of a module in the folder of another one, from which a thread or a process can start. Its extension is `.ts` in a
 * checkout and `.js` in the published package.
 *
 * @param url the other module's `import.meta.url`
 */
export function moduleBeside(url: string, name: string): URL {
  return new URL(`./${name}${extname(url)}`, url)
}

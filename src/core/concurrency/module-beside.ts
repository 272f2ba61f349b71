import { extname } from 'node:path'

/**
 * The module of a name in the folder of another one, for a thread or a process to start with: the same file name in a
 * checkout (.ts) and in the published package (.js).
 *
 * @param url the other one's `import.meta.url`
 */
export function moduleBeside(url: string, name: string): URL {
  return new URL(`./${name}${extname(url)}`, url)
}

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { alignColumns } from './figures.ts'
import { ROOT } from './processes.ts'
import { WORK } from './stores/files.ts'

/** How often each part is measured in each of the two versions. */
const ROUNDS = 2

/** The values of a figure in each round: its ratio to a limit or a peer, or the value itself if it has none. */
type Rounds = { before: string[]; now: string[] }

/**
 * Measures parts of another commit and of this checkout in turns, each with its own benchmark, and prints the figures of
 * both side by side. The commit is checked out and installed in the benchmark's folder, and stays there.
 *
 * @param revision a commit, branch or tag
 * @throws an error of git for an unknown revision.
 */
export async function benchAgainst(revision: string, parts: readonly string[]): Promise<void> {
  const before = await checkedOut(revision)
  const figures = new Map<string, Rounds>()
  for (const part of parts) {
    for (let round = 0; round < ROUNDS; round++) {
      // Which one is first changes, so that neither always has the warmer machine.
      const versions = [
        { folder: before, is: 'before' },
        { folder: ROOT, is: 'now' },
      ] as const
      for (const { folder, is } of round % 2 === 0 ? versions : versions.toReversed()) {
        console.log(`${part}, ${is} (${round + 1} of ${ROUNDS}) ...`)
        for (const { name, value } of figuresIn(await output(folder, part))) {
          const rounds = figures.get(name) ?? { before: [], now: [] }
          figures.set(name, rounds)
          rounds[is].push(value)
        }
      }
    }
  }
  const rows = [...figures].map(([name, rounds]) => [name, rounds.before.join(' '), rounds.now.join(' ')])
  console.log(alignColumns([['figure: ratio, or value', revision, 'now'], ...rows]))
}

/** A folder with the commit, and its packages. */
async function checkedOut(revision: string): Promise<string> {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  const commit = git('rev-parse', '--verify', `${revision}^{commit}`)
  const folder = join(WORK, 'against', commit.slice(0, 12))
  if (existsSync(folder)) return folder
  mkdirSync(join(WORK, 'against'), { recursive: true })
  // It has its name once it is whole: one that was interrupted is begun anew.
  const part = `${folder}.part`
  rmSync(part, { recursive: true, force: true })
  // Not a worktree, which git would list for ever.
  git('clone', '--quiet', '--shared', '--no-checkout', ROOT, part)
  execFileSync('git', ['checkout', '--quiet', '--detach', commit], { cwd: part })
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: part, stdio: 'ignore' })
  renameSync(part, folder)
  return folder
}

/** What the benchmark in a folder prints for a part. */
async function output(folder: string, part: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const child = spawn('npm', ['run', '--silent', 'bench', '--', '--only', part], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  child.on('error', reject)
  child.on('close', (code) =>
    code === 0
      ? resolve(text)
      : reject(new Error(`${folder}: npm run bench -- --only ${part} ended with ${code}`)),
  )
  return promise
}

/** The figures of the table at the end of a benchmark's output. Earlier commits print nothing that a program reads more easily. */
export function figuresIn(text: string): { name: string; value: string }[] {
  const table = text.slice(text.lastIndexOf('\nfigure  ') + 1).split('\n')
  const head = table[0] ?? ''
  const columns = ['figure', 'value', 'ratio', 'target'].map((title) => head.indexOf(title))
  const [nameAt, valueAt, ratioAt, targetAt] = columns as [number, number, number, number]
  const found: { name: string; value: string }[] = []
  for (const line of table.slice(1)) {
    if (line.trim() === '') break
    const ratio = line.slice(ratioAt, targetAt).trim()
    const [value = ''] = line.slice(valueAt).trim().split('  ')
    found.push({ name: line.slice(nameAt, valueAt).trim(), value: ratio === '' ? value : ratio })
  }
  return found
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../fixtures/documentation.ts'

/** Comments of whole lines, as nearly all are here; and imports. */
const COMMENTS = /^[ \t]*\/\*[\s\S]*?\*\/|^[ \t]*\/\/.*$/gm
const IMPORTS = /^import [^']*'[^']+'$/gm

/** The code of a source file, by its path in the checkout: without comments and imports. */
export function codeOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').replaceAll(COMMENTS, '').replaceAll(IMPORTS, '')
}

/** Whether code contains a name as a word of its own: `push` is not in `pushed`, but `#push` is the same as `push`. */
export function hasName(code: string, name: string): boolean {
  return new RegExp(`(?<![\\w$])${escaped(name)}(?![\\w$])`).test(code)
}

/**
 * Whether code uses a function or a class, beyond declaring it, or a member. For `RecordFramer.push` that is `.push` in code
 * that names `RecordFramer`; for one of `createEventBuffer`, code that names `EventBuffer`.
 */
export function usesName(code: string, name: string): boolean {
  const [owner, member] = name.split('.') as [string, string?]
  if (member === undefined) {
    const declaring = '(?<!(?:function\\*?|class|const|let|type) )'
    return new RegExp(`(?<![\\w$])${declaring}${escaped(owner)}(?![\\w$])`).test(code)
  }
  const isNamed = hasName(code, owner) || hasName(code, owner.replace(/^create/, ''))
  return isNamed && new RegExp(`\\.#?${escaped(member)}(?![\\w$])`).test(code)
}

/** A declaration of a file's top level, from its first line to its last; null if there is none of the name. */
function declarationOf(code: string, name: string): string | null {
  const begin = `^(?:export )?(?:async )?(?:function\\*? |class |const |let |type )${escaped(name)}(?![\\w$])`
  return (
    new RegExp(
      `${begin}[\\s\\S]*?(?=\\n(?:export|async|function|class|const|let|type)\\b|(?![\\s\\S]))`,
      'm',
    ).exec(code)?.[0] ?? null
  )
}

/** Whether code declares a name, or a member of it: `RecordFramer.push`, `Answers.#renderAndSend`, `Reader.page`. */
export function declares(code: string, name: string): boolean {
  const [owner, member] = name.split('.') as [string, string?]
  const declaration = declarationOf(code, owner)
  if (declaration === null || member === undefined) return declaration !== null
  const before = '(?:static |get |async |readonly |function\\*? |const |\\*)*'
  return new RegExp(`^[ \\t]+${before}${escaped(member)}\\??(?:[(<:,]| = )`, 'm').test(declaration)
}

function escaped(name: string): string {
  return name.replaceAll(/[$#]/g, '\\$&')
}

// `npm run build:docs`: writes what pages say of every option and every resource, from the program itself:
// docs/configuration.md, and the parts of other pages between comments (resource-tables.ts).
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import {
  type CommonOption,
  commonOptions,
  type DescribedOption,
  everyCommand,
  nameOf,
  ownOptions,
} from './command-options.ts'
import { GENERATED_PARTS, withGeneratedParts } from './resource-tables.ts'

const ROOT = join(import.meta.dirname, '..')

/** The pages that this writes, in whole or in part, by path in the checkout. */
export async function generatedPages(): Promise<Map<string, string>> {
  return new Map([
    ['docs/configuration.md', await configurationPage()],
    ...Object.keys(GENERATED_PARTS).map((path) => [path, withGeneratedParts(path, pageAt(path))] as const),
  ])
}

const pageAt = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const HEAD = `# Configuration

Every option, as listed by \`lyra COMMAND --help\`. Most can also be set by an environment variable; a flag overrides its
variable. \`npm run build:docs\` generates this page.
`

async function configurationPage(): Promise<string> {
  const commands = await everyCommand()
  const common = commonOptions(commands)
  return [
    HEAD,
    `## Common options

These have the same meaning in every command that is listed in the last column.

${HEADER.replace('|\n', '| commands |\n')}---|
${[...common.values()].map(commonRowOf).join('\n')}
`,
    ...commands.map((command) => sectionOf(command, common)),
  ].join('\n')
}

const HEADER = `| flag | variable | default | |
|---|---|---|---|`

const commonRowOf = ({ option, takers, isOfAll }: CommonOption) =>
  `${rowOf(option)} ${isOfAll ? 'all' : takers.join(', ')} |`

function rowOf({ flags, variable, default: unset, meaning, choices }: DescribedOption): string {
  const given = choices.length === 0 ? '' : `: ${codeOf(choices.join(', '))}`
  const cells = [
    codeOf(flags),
    variable === null ? '' : codeOf(variable),
    unset?.isValue ? codeOf(unset.text) : (unset?.text ?? ''),
    `${meaning}${given}`.replaceAll('|', '\\|'),
  ]
  return `| ${cells.join(' | ')} |`
}

function sectionOf(command: Command, common: ReadonlyMap<string, CommonOption>): string {
  const rows = ownOptions(command, common).map(rowOf)
  const name = nameOf(command)
  return `## lyra ${name}

${capitalised(command.summary())}: \`lyra ${name} ${command.usage()}\`.
${rows.length === 0 ? '' : `\n${HEADER}\n${rows.join('\n')}\n`}`
}

const codeOf = (text: string) => `\`${text}\``

const capitalised = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)

if (import.meta.main) for (const [path, text] of await generatedPages()) writeFileSync(join(ROOT, path), text)

// `npm run build:docs`: writes what pages say of every option and every resource, from the program itself:
// docs/configuration.md, and the parts of other pages between comments (resource-tables.ts).
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command, Option } from 'commander'
import { loadCommands } from '#tools/cli/program'
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
  const commands = (await loadCommands()).flatMap((command) =>
    command.commands.length === 0 ? [command] : command.commands,
  )
  const common = commonRows(commands)
  return [
    HEAD,
    `## Common options

These have the same meaning in every command that is listed in the last column.

${HEADER.replace('|\n', '| commands |\n')}---|
${[...common].map(([row, takers]) => `${row} ${takers} |`).join('\n')}
`,
    ...commands.map((command) => sectionOf(command, common)),
  ].join('\n')
}

const HEADER = `| flag | variable | default | |
|---|---|---|---|`

/** The rows of options that several commands take alike, with the names of these commands. */
function commonRows(commands: readonly Command[]): Map<string, string> {
  const takers = new Map<string, string[]>()
  for (const command of commands) {
    for (const row of shownOptions(command).map(rowOf))
      takers.set(row, [...(takers.get(row) ?? []), nameOf(command)])
  }
  const common = [...takers].filter(([, names]) => names.length > 1)
  return new Map(
    common.map(([row, names]) => [row, names.length === commands.length ? 'all' : names.join(', ')]),
  )
}

/** Options of earlier versions, which still count as variables, are not shown. */
const shownOptions = ({ options }: Command) => options.filter(({ hidden }) => !hidden)

function rowOf(option: Option): string {
  const variable = option.envVar ?? variableOf(option)
  const cells = [variable === undefined ? '' : codeOf(variable), defaultOf(option), meaningOf(option)]
  return `| ${[codeOf(option.flags), ...cells].join(' | ')} |`
}

function sectionOf(command: Command, common: ReadonlyMap<string, string>): string {
  const rows = shownOptions(command)
    .map(rowOf)
    .filter((row) => !common.has(row))
  const name = nameOf(command)
  return `## lyra ${name}

${capitalised(command.summary())}: \`lyra ${name} ${command.usage()}\`.
${rows.length === 0 ? '' : `\n${HEADER}\n${rows.join('\n')}\n`}`
}

/** `serve`, or `gap accept` of a command within another one. */
const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`

/** A flag that is on or off names its variable in its description (cli/options.ts). */
const VARIABLE = / \(env: (\w+)\)$/

const variableOf = ({ description }: Option) => VARIABLE.exec(description)?.[1]

function meaningOf({ description, argChoices }: Option): string {
  const choices = argChoices === undefined ? '' : `: ${codeOf(argChoices.join(', '))}`
  return `${description.replace(VARIABLE, '')}${choices}`.replaceAll('|', '\\|')
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string {
  if (defaultValueDescription !== undefined) return defaultValueDescription
  if (defaultValue === false) return 'off'
  return defaultValue === undefined ? '' : codeOf(String(defaultValue))
}

const codeOf = (text: string) => `\`${text}\``

const capitalised = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)

if (import.meta.main) for (const [path, text] of await generatedPages()) writeFileSync(join(ROOT, path), text)

// `npm run build:docs`: writes docs/configuration.md, the table of every command's options, from the program itself.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command, Option } from 'commander'
import { loadCommands } from '../src/cli/program.ts'

/** Where the page lies. */
export const CONFIGURATION_PAGE = join(import.meta.dirname, '../docs/configuration.md')

const HEAD = `# Configuration

For those who run commands or operate the service: every setting, as \`lyra COMMAND --help\` lists them. A setting is a flag,
and most are environment variables too; a flag overrides its variable. \`npm run build:docs\` writes this page.
`

/** The text of docs/configuration.md. */
export async function configurationPage(): Promise<string> {
  const commands = await loadCommands()
  return [HEAD, ...commands.map(sectionOf)].join('\n')
}

function sectionOf(command: Command): string {
  const rows = command.options.map((option) =>
    [codeOf(option.flags), option.envVar ?? variableOf(option) ?? '', defaultOf(option), meaningOf(option)]
      .map((cell, index) => (index === 1 && cell !== '' ? codeOf(cell) : cell))
      .join(' | '),
  )
  return `## lyra ${command.name()}

${capitalised(command.summary())}: \`lyra ${command.name()} ${command.usage()}\`.

| flag | variable | default | |
|---|---|---|---|
${rows.map((row) => `| ${row} |`).join('\n')}
`
}

/** A flag that is on or off names its variable in its description (cli/options.ts). */
const VARIABLE = / \(env: (\w+)\)$/

const variableOf = ({ description }: Option) => VARIABLE.exec(description)?.[1]

function meaningOf({ description, argChoices }: Option): string {
  const choices = argChoices === undefined ? '' : ` (${argChoices.join(', ')})`
  return `${description.replace(VARIABLE, '')}${choices}`.replaceAll('|', '\\|')
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string {
  if (defaultValueDescription !== undefined) return defaultValueDescription
  return defaultValue === undefined ? '' : codeOf(String(defaultValue))
}

const codeOf = (text: string) => `\`${text}\``

const capitalised = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)

if (import.meta.main) writeFileSync(CONFIGURATION_PAGE, await configurationPage())

import type { Command, Option } from 'commander'
import { loadCommands } from '#tools/cli/program'

/** An option of a command, for people. */
export type DescribedOption = {
  /** `--store <store>` */
  flags: string
  /** The environment variable that sets it, too; null without one. */
  variable: string | null
  /** What it is without being set; `isValue` of a value that could be given, not of a description. Null if there is no default. */
  default: { text: string; isValue: boolean } | null
  meaning: string
  choices: readonly string[]
}

/** Every command of the program; of a command with commands of its own, these. */
export async function everyCommand(): Promise<Command[]> {
  return (await loadCommands()).flatMap((command) =>
    command.commands.length === 0 ? [command] : command.commands,
  )
}

/** `serve`, or `gap accept` of a command within another one. */
export const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`

/** The options that help shows: those of earlier versions, which still count as variables, are left out. */
export const optionsOf = ({ options }: Command): DescribedOption[] =>
  options.filter(({ hidden }) => !hidden).map(describe)

/** A flag that is on or off names its variable in its description (cli/options.ts). */
const VARIABLE = / \(env: (\w+)\)$/

function describe(option: Option): DescribedOption {
  const { flags, description, argChoices, envVar } = option
  return {
    flags,
    variable: envVar ?? VARIABLE.exec(description)?.[1] ?? null,
    default: defaultOf(option),
    meaning: description.replace(VARIABLE, ''),
    choices: argChoices ?? [],
  }
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): DescribedOption['default'] {
  if (defaultValueDescription !== undefined) return { text: defaultValueDescription, isValue: false }
  if (defaultValue === false) return { text: 'off', isValue: false }
  return defaultValue === undefined ? null : { text: String(defaultValue), isValue: true }
}

/** An option that several commands take, with the same meaning. */
export type CommonOption = { option: DescribedOption; takers: string[]; isOfAll: boolean }

/** The options that several commands take alike, by their text: the same in two commands. */
export function commonOptions(commands: readonly Command[]): Map<string, CommonOption> {
  const found = new Map<string, CommonOption>()
  for (const command of commands) {
    for (const option of optionsOf(command)) {
      const { takers } = found.get(keyOf(option)) ?? { takers: [] }
      const names = [...takers, nameOf(command)]
      found.set(keyOf(option), { option, takers: names, isOfAll: names.length === commands.length })
    }
  }
  return new Map([...found].filter(([, { takers }]) => takers.length > 1))
}

/** The options of one command that are not among the common ones. */
export const ownOptions = (command: Command, common: ReadonlyMap<string, CommonOption>): DescribedOption[] =>
  optionsOf(command).filter((option) => !common.has(keyOf(option)))

const keyOf = (option: DescribedOption) => JSON.stringify(option)

import type { Argument, Command } from 'commander'
import { EXIT } from '#tools/cli/exit'
import {
  commonOptions,
  type DescribedOption,
  everyCommand,
  nameOf,
  optionsOf,
  ownOptions,
} from './command-options.ts'

const EXIT_MEANINGS: Record<keyof typeof EXIT, string> = {
  ok: 'Done. A service ended in order.',
  failure: 'Failed; or check, verify or compare found problems or differences.',
  usage: 'Wrong usage: a command, an option, or a value of one.',
  gap: 'Blocks are missing; or migrate --check would change the schema.',
  interrupted: 'Interrupted by a signal.',
}

const FILES: [path: string, meaning: string][] = [
  ['/etc/lyra/lyra.env', 'Settings of the service, one VARIABLE=value a line.'],
  ['/etc/lyra/receive.env', 'Settings of lyra-receive.service.'],
  ['/etc/lyra/reader.env', 'Settings that readers have in addition.'],
  ['/var/lib/lyra', "The service's store, lyra.db, and event log, event-log."],
  ['/var/cache/lyra', 'Compiled code.'],
  ['/usr/share/doc/lyra', 'The guides, and examples of deployment.'],
]

/**
 * The manual page `lyra(1)`, from the same tables of commands as their help and docs/configuration.md: in the macros man(7).
 *
 * @param date of the page, `2026-01-31`
 */
export async function manPage(version: string, date: string): Promise<string> {
  const commands = await everyCommand()
  const common = commonOptions(commands)
  return [
    `.TH LYRA 1 ${quoted(date)} ${quoted(`Lyra ${version}`)} "User Commands"`,
    // Words are not hyphenated, and lines not stretched: many are options.
    '.nh',
    '.ad l',
    '.SH NAME',
    'lyra \\- serves funding, liquidity and checkpoint data of a Vega network',
    '.SH SYNOPSIS',
    ...[...commands.map((command) => `lyra ${nameOf(command)} ${command.usage()}`), 'lyra --version'].flatMap(
      (call, index) => [...(index === 0 ? [] : ['.br']), line(call)],
    ),
    '.SH DESCRIPTION',
    line(
      "Lyra reads the events of a Vega network's core, live or from files, into a SQLite file or PostgreSQL, and answers over REST and gRPC.",
    ),
    '.PP',
    line(
      'Most options can also be set by the environment variable that is named with them; an option overrides its variable.',
    ),
    '.SH COMMANDS',
    ...commands.flatMap((command) => [
      `.SS ${quoted(`lyra ${nameOf(command)} ${command.usage()}`)}`,
      line(command.description()),
      ...command.registeredArguments.flatMap(argumentItem),
      ...ownOptions(command, common).flatMap(optionItem),
      ...otherOptions(command, ownOptions(command, common)),
      ...notesOf(command),
    ]),
    '.SH COMMON OPTIONS',
    'These have the same meaning in each command that takes them.',
    ...[...common.values()].flatMap(({ option, takers, isOfAll }) => [
      ...optionItem(option),
      line(`Commands: ${isOfAll ? 'all' : takers.join(', ')}.`),
    ]),
    '.SH EXIT STATUS',
    ...Object.entries(EXIT).flatMap(([name, status]) =>
      item(String(status), EXIT_MEANINGS[name as keyof typeof EXIT]),
    ),
    '.SH FILES',
    'Those of the Debian package:',
    ...FILES.flatMap(([path, meaning]) => item(path, meaning)),
    '.SH SEE ALSO',
    line('The guides in /usr/share/doc/lyra/docs, or in the folder docs of an archive.'),
    '',
  ].join('\n')
}

function argumentItem(argument: Argument): string[] {
  const shown = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`
  return item(shown, `${capitalised(argument.description)}.`)
}

function optionItem({ flags, variable, default: unset, meaning, choices }: DescribedOption): string[] {
  const sentences = [
    capitalised(meaning),
    choices.length === 0 ? '' : `One of ${choices.join(', ')}`,
    unset === null ? '' : `Default: ${unset.text}`,
    variable === null ? '' : `Variable: ${variable}`,
  ]
  return item(flags, `${sentences.filter((sentence) => sentence !== '').join('. ')}.`)
}

/** The options of a command that are described among the common ones. */
function otherOptions(command: Command, own: readonly DescribedOption[]): string[] {
  const described = new Set(own.map(({ flags }) => flags))
  const others = optionsOf(command).filter(({ flags }) => !described.has(flags))
  if (others.length === 0) return []
  return ['.PP', line(`Common options: ${others.map(({ flags }) => flags.split(' ')[0]).join(', ')}.`)]
}

/** What a command's help says after its options, in paragraphs. */
function notesOf(command: Command): string[] {
  let help = ''
  const writeOut = (text: string) => {
    help += text
  }
  command.configureOutput({ writeOut }).outputHelp()
  return help
    .slice(command.helpInformation().length)
    .trim()
    .split('\n\n')
    .filter((paragraph) => paragraph !== '')
    .flatMap((paragraph) => ['.PP', ...paragraph.split('\n').map(line)])
}

const item = (term: string, text: string): string[] => ['.TP', `\\fB${escaped(term)}\\fR`, line(text)]

/** A line of text: no macro, whatever it begins with. */
const line = (text: string) => escaped(text).replace(/^([.'])/, '\\&$1')

/** An argument of a macro. */
const quoted = (text: string) => `"${escaped(text).replaceAll('"', '\\(dq')}"`

/** Text in which hyphens are those of the keyboard, so that an option can be copied. */
const escaped = (text: string) => text.replaceAll('\\', '\\e').replaceAll('-', '\\-')

/** A sentence that begins with a capital, unless it begins with an address. */
const capitalised = (text: string) =>
  /^[a-z]+:/.test(text) ? text : text.slice(0, 1).toUpperCase() + text.slice(1)

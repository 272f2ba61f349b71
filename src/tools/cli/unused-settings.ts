import type { Command } from 'commander'
import type { ServeSettings } from '#service/serve/settings'

/** Settings that have no effect unless another one is set. */
const NEEDED_SETTINGS: readonly [setting: keyof ServeSettings, flag: string, needs: string][] = [
  ['listenFrom', '--listen-from', '--listen'],
  ['chain', '--chain', '--listen or --follow'],
  ['eventLogKeep', '--event-log-keep', '--listen'],
  ['eventLogMode', '--event-log-mode', '--listen'],
  ['reader', '--reader', '--listen or --follow'],
  ['allowGap', '--allow-gap', '--listen, --follow or a file'],
  ['strict', '--strict', '--listen, --follow or a file'],
]

/** A line for each setting of `lyra serve` that has no effect, and for each variable whose name may be misspelt. */
export function unusedSettings(command: Command, { listen, follow, paths }: ServeSettings): string[] {
  const isOff = {
    '--listen': listen === null,
    '--listen or --follow': listen === null && follow.length === 0,
    '--listen, --follow or a file': listen === null && follow.length === 0 && paths.length === 0,
  }
  const unused = NEEDED_SETTINGS.filter(([setting, , needs]) => {
    const source = command.getOptionValueSource(setting)
    const isSet = source === 'default' ? command.opts()[setting] === true : source !== undefined
    return isSet && isOff[needs as keyof typeof isOff]
  })
  // A flag's variable is only in its description, because it accepts more values than commander would allow.
  const names = command.options.map(
    ({ envVar, description }) => envVar ?? /\(env: (\w+)\)$/.exec(description)?.[1],
  )
  const unknown = Object.keys(process.env).filter((name) => name.startsWith('LYRA_') && !names.includes(name))
  return [
    ...unused.map(([, flag, needs]) => `${flag} has no effect without ${needs}`),
    ...unknown.map((name) => `${name} is no setting of lyra serve; see lyra serve --help`),
  ]
}

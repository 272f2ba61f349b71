import { Command } from 'commander'
import { NODE_DISK } from '#core/log/files/log-disk'
import { readReaders, removeReader } from '#core/log/files/reader-files'
import { explainPathError } from '#core/records/event-paths'
import { eventLogOption, eventLogPath } from './event-log-options.ts'
import { InvalidSettingError } from './options.ts'

const NOTES = `
Blocks stay in the event log until every store that reads it has them. Release a store that is gone, and the log may be
shortened again; release a forwarder that is gone, and a core no longer waits for it in a protocol upgrade. The names are in
lyra status --event-log. A reader that still runs is back with its next commit.`

/** `lyra log`: looks after an event log. */
export function command(): Command {
  const release = new Command('release')
    .summary('forget a reader that will not come back')
    .description('Forgets a reader of an event log that will not come back.')
    .argument('<name>', 'its name')
    .addOption(eventLogOption())
    .addHelpText('after', NOTES)
    .action((name: string, options: { eventLog: string | null }) => {
      const folder = eventLogPath(options.eventLog)
      const names = namesOfReaders(folder)
      if (!names.includes(name)) {
        const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
        throw new InvalidSettingError(`${folder}: the event log has no reader "${name}"; ${known}`)
      }
      removeReader(NODE_DISK, folder, name)
      console.log(`${folder}: ${name} is released`)
    })
  return new Command('log').description('Looks after an event log.').addCommand(release)
}

/** @throws {EventPathError} if the folder cannot be read. */
function namesOfReaders(folder: string): string[] {
  try {
    return readReaders(NODE_DISK, folder).map((reader) => reader.name)
  } catch (error) {
    throw explainPathError(folder, error)
  }
}

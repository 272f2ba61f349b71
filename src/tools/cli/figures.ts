import { describeDuration } from '#core/domain/duration'

/** A duration for people; below a minute in tenths of a second. */
export const elapsed = (seconds: number) =>
  seconds < 60 ? `${seconds.toFixed(1)} s` : describeDuration(seconds)

/** `12.3 MB` */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = -1
  do {
    value /= 1000
    unit++
  } while (value >= 1000 && unit < units.length - 1)
  return `${value.toFixed(1)} ${units[unit]}`
}

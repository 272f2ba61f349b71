const NOTICE_SPAN_MS = 60_000

/**
 * Forwards the first notice at once. While more follow, it forwards the latest one at most once a minute, with the number
 * since.
 */
export function countedNotice(notice: (message: string) => void): (message: string) => void {
  let timer: NodeJS.Timeout | null = null
  let further = 0
  let last = ''
  const begin = () => {
    timer = setTimeout(() => {
      timer = null
      if (further === 0) return
      notice(`${last} (${further} times more within a minute)`)
      further = 0
      begin()
    }, NOTICE_SPAN_MS).unref()
  }
  return (message) => {
    last = message
    if (timer !== null) {
      further++
      return
    }
    notice(message)
    begin()
  }
}

/** Whether a text names an event log by a URL, and not by a folder. */
export function isLogUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
}

/**
 * The URL of an event log's folder, with a slash at its end.
 *
 * @throws an error that says what is allowed.
 */
export function parseLogUrl(text: string): URL {
  if (!URL.canParse(text)) throw new Error(`"${text}" is no URL.`)
  const url = new URL(text)
  const isEncrypted = url.protocol === 'https:'
  if (!isEncrypted && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    throw new Error(`"${url.origin}" must be https; http is for this machine (127.0.0.1) only.`)
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new Error('The URL of an event log has no user, password, query or fragment.')
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

/** The parser has brought addresses such as 127.1 to their usual form. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

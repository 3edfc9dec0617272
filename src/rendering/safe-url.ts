// Addresses that may stand behind a label: of a few protocols, and without anything that only deceives.

const protocols = new Set(['https:', 'http:', 'mailto:', 'tel:'])
const start = /^(?:https?:\/|mailto:|tel:)/i
const isWebAddress = /^https?:/
// The URL parser leaves these in addresses that are not of the web: ends of lines become headers of a mail, brackets markup.
const outside = /%0[0ad]|[\s<>"'`|\\^{}]/i
// A longer address is data, and no platform takes it.
const maxLength = 4096

/** As the URL parser writes it, which is how a browser would read it; undefined where a reader must not be sent there. */
export function safeUrl(written: string): string | undefined {
  const href = written.trim()
  if (href.length > maxLength || !start.test(href) || !URL.canParse(href)) return undefined
  const url = new URL(href)
  // A user name in an address looks like the host and is not.
  if (!protocols.has(url.protocol) || url.username !== '' || url.password !== '') return undefined
  if (!isWebAddress.test(url.href) && outside.test(url.href)) return undefined
  return url.href.length > maxLength ? undefined : url.href
}

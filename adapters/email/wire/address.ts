// The one form of address that mail goes out to: a dot-atom at a domain of plain labels (RFC 5321, 4.1.2). Quoted local parts, routes,
// comments and line ends have misrouted mail before, so nothing of them reaches a mail library.

const maxAddress = 254
const local = /^(?=.{1,64}$)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const label = /^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$/

export function isAsciiMailAddress(text: string): boolean {
  const at = text.indexOf('@')
  if (at < 1 || text.length > maxAddress) return false
  return local.test(text.slice(0, at)) && isAsciiDomainName(text.slice(at + 1))
}

/** A-labels only: what is written in other scripts has been turned into them before. */
export function isAsciiDomainName(text: string): boolean {
  const labels = text.split('.')
  return text.length <= 253 && labels.length > 1 && labels.every((each) => label.test(each))
}

/** Ids as other programs write them: anything visible but brackets and spaces, around one at sign, short enough for a line. */
export function isMessageId(text: string): boolean {
  return text.length <= 500 && /^[!-;=?-~]+@[!-;=?-~]+$/.test(text)
}

/** How evidence names the owner of a mailbox: the local part as it is written, the domain in small letters. */
export function mailtoSubjectOfAddress(address: string): string {
  const at = address.lastIndexOf('@')
  return `mailto:${address.slice(0, at)}${address.slice(at).toLowerCase()}`
}

// Domains are compared in one form: A-label, small letters.

const ascii = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/
/** Letters, marks and numbers only: no dots of other scripts, no width variants, nothing invisible. */
const letters = /^[\p{L}\p{M}\p{N}.-]+$/u
const maxLength = 253
const maxLabelLength = 63

/** Undefined for literals, addresses of machines, and names that IDNA does not know or would change. */
export function normalizeDomain(written: string): string | undefined {
  if (written === '' || written.length > maxLength) return undefined
  const small = written.toLowerCase()
  const domain = ascii.test(small) && !small.includes('xn--') ? small : domainToAscii(small)
  if (domain === undefined || domain.length > maxLength || !ascii.test(domain)) return undefined
  const labels = domain.split('.')
  const areLabels = labels.every(
    (label) => label.length <= maxLabelLength && !label.startsWith('-') && !label.endsWith('-'),
  )
  return areLabels && !/^\d+$/.test(labels.at(-1) ?? '') ? domain : undefined
}

function domainToAscii(small: string): string | undefined {
  // What compatibility forms stand for is another name than the one that is written.
  if (!letters.test(small) || small.normalize('NFC') !== small.normalize('NFKC')) return undefined
  return URL.parse(`http://${small}`)?.hostname
}

// A domain in the one form we compare: A-label, small letters.

const ascii = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/
/** Letters, marks and numbers only: no dots of other scripts, no width variants, nothing invisible. */
const letters = /^[\p{L}\p{M}\p{N}.-]+$/u
const maxLength = 253
const maxLabelLength = 63

/** Undefined for literals, addresses of machines, and names that IDNA does not know or would change. */
export function normalizeDomain(written: string): string | undefined {
  if (written === '' || written.length > maxLength) return undefined
  const small = written.toLowerCase()
  const domain = ascii.test(small) && !small.includes('xn--') ? small : toALabel(small)
  if (domain === undefined || domain.length > maxLength || !ascii.test(domain)) return undefined
  const labels = domain.split('.')
  const areLabels = labels.every(
    (label) => label.length <= maxLabelLength && !label.startsWith('-') && !label.endsWith('-'),
  )
  return areLabels && !/^\d+$/.test(labels.at(-1) ?? '') ? domain : undefined
}

function toALabel(small: string): string | undefined {
  // What compatibility forms stand for is another name than the one that is written.
  if (!letters.test(small) || small.normalize('NFC') !== small.normalize('NFKC')) return undefined
  return URL.parse(`http://${small}`)?.hostname
}

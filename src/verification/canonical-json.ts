// RFC 8785: one text per JSON value, so that a signature over it still verifies after it was parsed and written again.
import { GatewayError } from '../contract/index.ts'

export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    // Names in the order of their UTF-16 units, which is how strings compare here.
    const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
    return `{${entries.map(([name, item]) => `${canonicalString(name)}:${canonicalJson(item)}`).join(',')}}`
  }
  if (typeof value === 'string') return canonicalString(value)
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  if (typeof value === 'boolean' || value === null) return String(value)
  throw new GatewayError('bad_request', 'only JSON can be put into its canonical form; leave out what is none')
}

/** Half a character has no form in UTF-8: whatever is signed would differ from what is sent. */
function canonicalString(value: string): string {
  if (value.isWellFormed()) return JSON.stringify(value)
  throw new GatewayError('bad_request', 'half a character cannot be put into canonical form; send whole ones')
}

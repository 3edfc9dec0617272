// What is kept of a mail beside the message: its text within bounds and the part of its envelope that concerns this recipient. The
// other envelope recipients are not kept: they may have been blind copies. Pure.
import type { JsonObject } from '../../../src/contract/index.ts'
import type { VerifiedMail } from '../wire/read.ts'

/** A larger mail keeps its head; all of it lies with the originals. */
export const maxRawBytes = 128 * 1024

/** A larger one without a proven author keeps the beginning of its head: who it says it is from, and about what. */
const maxUnprovenBytes = 1024

export function keptRawMail(
  { raw, head, proof, envelope, original }: VerifiedMail,
  given: string,
  domains: readonly string[],
): JsonObject {
  const most = proof.standing === 'verified' ? maxRawBytes : maxUnprovenBytes
  const isWhole = raw.length <= most
  const kept = isWhole ? raw : raw.subarray(0, Math.min(head.bodyStart, most))
  return {
    envelope: { from: envelope.mailFrom ?? null, to: given },
    mail: withoutForgedResults(new TextDecoder().decode(kept), domains),
    ...(isWhole ? {} : { original: original ?? null, size: raw.length }),
  }
}

const results = /^authentication-results\s*:\s*([^\s;]*)/i

/** A result that claims to be ours was written by a server on the way or by the sender: nothing of ours comes in from outside. */
function withoutForgedResults(text: string, domains: readonly string[]): string {
  const end = text.search(/\r?\n\r?\n/)
  const head = end < 0 ? text : text.slice(0, end)
  if (!/^authentication-results/im.test(head)) return text
  const fields = head.split(/\r?\n(?![ \t])/)
  const kept = fields.filter((field) => !domains.includes((results.exec(unfoldField(field))?.[1] ?? '').toLowerCase()))
  return kept.length === fields.length ? text : kept.join('\r\n') + text.slice(head.length)
}

function unfoldField(field: string): string {
  return field.replace(/\r?\n[ \t]+/g, ' ')
}

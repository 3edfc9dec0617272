// What became of every reply of the flood, read from what the vendor holds and from what the operator is shown.
//
//   delivered   every part is at the vendor, and the message is not among the dead
//   unknown     the operator is shown that the outcome of one of its parts is unknown
//   broken off  a part was refused for good: one notice stands in place of the rest
import type { VendorMessage } from '../doubles/vendor-stub.ts'
import { partTexts } from './part-text.ts'

export type AskedReply = { readonly id: string; readonly conversation: string; readonly parts: number }

export type FloodEvidence = {
  /** In the order in which they were asked for. */
  readonly asked: readonly AskedReply[]
  /** The same for replies of which the vendor refuses the second part. */
  readonly refused: readonly AskedReply[]
  readonly messages: readonly VendorMessage[]
  /** Ids of messages among the dead, with the reason. */
  readonly deadReason: ReadonlyMap<string, string>
  /** Texts of the calls the operator is shown as unknown. */
  readonly unknownTexts: readonly string[]
}

export type FloodLedger = {
  readonly delivered: readonly string[]
  readonly unknown: readonly string[]
  readonly brokenOff: readonly string[]
  /** Parts the vendor holds twice. */
  readonly doubled: readonly string[]
  /** Replies with a part missing that nobody is told about, and texts nobody wrote. */
  readonly truncated: readonly string[]
  readonly outOfOrder: readonly string[]
}

const notice = 'The rest of my answer could not be delivered.'

export function readFlood(evidence: FloodEvidence): FloodLedger {
  const { asked, refused, messages, deadReason } = evidence
  const texts = messages.map((message) => message.text)
  const held = new Set(texts)
  const unknownTexts = new Set(evidence.unknownTexts)
  const partsOf = (reply: AskedReply): readonly string[] => partTexts(reply.id, reply.parts)
  const isUnknown = (reply: AskedReply): boolean =>
    deadReason.get(reply.id) === 'delivery_unknown' && partsOf(reply).some((text) => unknownTexts.has(text))
  const isWhole = (reply: AskedReply): boolean => partsOf(reply).every((text) => held.has(text))
  const isAccounted = (reply: AskedReply): boolean =>
    partsOf(reply).every((text) => held.has(text) || unknownTexts.has(text))
  const expected = new Set([...asked, ...refused].flatMap(partsOf))
  return {
    delivered: asked.filter((reply) => isWhole(reply) && !deadReason.has(reply.id)).map(idOf),
    unknown: asked.filter(isUnknown).map(idOf),
    brokenOff: refused.filter((reply) => isBrokenOff(reply, partsOf(reply), evidence)).map(idOf),
    doubled: texts.filter((text, index) => !text.startsWith(notice) && texts.indexOf(text) !== index),
    truncated: [
      ...asked.filter((reply) => !isAccounted(reply)).map(idOf),
      ...texts.filter((text) => !expected.has(text) && !text.startsWith(notice)),
    ],
    outOfOrder: disorder([...asked, ...refused].flatMap(partsOf), messages),
  }
}

/** The first part, no other, and one notice after it. */
function isBrokenOff(reply: AskedReply, parts: readonly string[], { messages }: FloodEvidence): boolean {
  const here = messages.filter((message) => message.conversation === reply.conversation).map((message) => message.text)
  return here.length === 2 && here[0] === parts[0] && (here[1] ?? '').startsWith(notice)
}

/** Parts that come after one that should follow them in their conversation. */
function disorder(expected: readonly string[], messages: readonly VendorMessage[]): readonly string[] {
  const place = new Map(expected.map((text, index) => [text, index]))
  const latest = new Map<string, number>()
  return messages
    .filter(({ conversation, text }) => {
      const at = place.get(text)
      const before = latest.get(conversation) ?? -1
      if (at === undefined) return false
      latest.set(conversation, Math.max(before, at))
      return at < before
    })
    .map((message) => message.text)
}

function idOf(reply: AskedReply): string {
  return reply.id
}

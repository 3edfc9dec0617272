// What became of every message, told by the outside: the platform's acknowledgements, the vendor, the tool stub.
// The gateway's own tables are read only where it says that a message died, through the operator's routes.
//
//   answered   a vendor message names the id
//   dead:…     no vendor message names it, and the operator's list of the dead does, with the reason
//   refused    the sender is not admitted; expected by whoever planned the traffic
//   lost       acknowledged with a 2xx, and none of the above
import type { VendorMessage } from '../doubles/vendor-stub.ts'
import type { DeadLine } from './operator.ts'
import { keyOf, type Update } from './platform.ts'
import type { Effect } from './tool-stub.ts'

export type Evidence = {
  readonly updates: readonly Update[]
  readonly acknowledged: ReadonlySet<string>
  readonly dead: readonly DeadLine[]
  /** Vendor messages per connection, in the order of arrival. */
  readonly messages: ReadonlyMap<string, readonly VendorMessage[]>
  readonly effects: readonly Effect[]
  readonly isRefused?: (update: Update) => boolean
  /** False for conversations whose messages were sent side by side and so have no order. */
  readonly isOrdered?: (update: Update) => boolean
}

export type Ledger = {
  readonly fates: ReadonlyMap<string, number>
  readonly lost: readonly string[]
  /** The same id in two vendor messages. */
  readonly doubledReplies: readonly string[]
  readonly doubledEffects: readonly string[]
  readonly doubledWakes: readonly string[]
  readonly missingWakes: readonly string[]
  /** Answered at the vendor, though the operator is told that it died before there was an answer. */
  readonly contradictions: readonly string[]
  readonly orderViolations: readonly string[]
  /** Keys named by a vendor message. */
  readonly named: ReadonlySet<string>
  readonly deadReason: ReadonlyMap<string, string>
  /** Vendor messages that answer, per connection. */
  readonly replies: ReadonlyMap<string, readonly (readonly string[])[]>
}

export function readLedger(evidence: Evidence): Ledger {
  const replies = new Map<string, readonly (readonly string[])[]>()
  const wakes: string[] = []
  for (const [connection, messages] of evidence.messages) {
    replies.set(
      connection,
      messages.map((message) => idsIn(message.text, 'saw')).filter((ids) => ids.length > 0),
    )
    for (const { text } of messages) wakes.push(...idsIn(text, 'woken').map((id) => keyOf({ connection, id })))
  }
  const answers = [...replies].flatMap(([connection, lists]) =>
    lists.flatMap((ids) => ids.map((id) => keyOf({ connection, id }))),
  )
  const named = new Set(answers)
  const deadReason = new Map(evidence.dead.map((line) => [keyOf({ ...line, id: line.messageId }), line.reason]))
  const ordered = evidence.updates.filter(evidence.isOrdered ?? (() => true))
  const fated = fatesOf(evidence, named, deadReason)
  const isAnswered = (update: Update) => named.has(keyOf(update)) && !deadReason.has(keyOf(update))
  return {
    ...fated,
    doubledReplies: repeated(answers),
    doubledEffects: repeated(evidence.effects.map(keyOf)),
    doubledWakes: repeated(wakes),
    missingWakes: evidence.updates
      .filter((update) => update.wish === 'remind' && isAnswered(update) && !wakes.includes(keyOf(update)))
      .map(keyOf),
    contradictions: [...deadReason].filter(([key, why]) => named.has(key) && !why.startsWith('delivery_')).map(toKey),
    orderViolations: [
      ...outOfOrder(ordered, answers).map((key) => `reply ${key}`),
      ...outOfOrder(ordered, evidence.effects.map(keyOf)).map((key) => `effect ${key}`),
    ],
    named,
    deadReason,
    replies,
  }
}

function fatesOf(
  { updates, acknowledged, isRefused = () => false }: Evidence,
  named: ReadonlySet<string>,
  deadReason: ReadonlyMap<string, string>,
): Pick<Ledger, 'fates' | 'lost'> {
  const fates = new Map<string, number>()
  const lost: string[] = []
  for (const update of updates) {
    const key = keyOf(update)
    if (!acknowledged.has(key)) continue
    const fate = fateOf(key, named, deadReason) ?? (isRefused(update) ? 'refused' : 'lost')
    fates.set(fate, (fates.get(fate) ?? 0) + 1)
    if (fate === 'lost') lost.push(key)
  }
  return { fates, lost }
}

function fateOf(key: string, named: ReadonlySet<string>, deadReason: ReadonlyMap<string, string>): string | undefined {
  if (named.has(key)) return 'answered'
  const reason = deadReason.get(key)
  return reason === undefined ? undefined : `dead:${reason}`
}

/** Ids whose first appearance comes after that of an id sent later in the same conversation. */
function outOfOrder(updates: readonly Update[], appeared: readonly string[]): readonly string[] {
  const place = new Map<string, { lane: string; index: number }>()
  updates.forEach((update, index) => {
    place.set(keyOf(update), { lane: `${update.connection}/${update.conversation}`, index })
  })
  const latest = new Map<string, number>()
  const wrong: string[] = []
  for (const key of new Set(appeared)) {
    const at = place.get(key)
    if (at === undefined) continue
    if (at.index < (latest.get(at.lane) ?? -1)) wrong.push(key)
    else latest.set(at.lane, at.index)
  }
  return wrong
}

function repeated(keys: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  return [...new Set(keys.filter((key) => seen.has(key) || !seen.add(key)))]
}

function idsIn(text: string, verb: 'saw' | 'woken'): readonly string[] {
  const words = text.split(' ')
  return words[0] === verb ? words.slice(1) : []
}

function toKey([key]: readonly [string, string]): string {
  return key
}

// Presence: typing, reactions, a status line. Outside the outbox: a lost one is no loss, no turn waits for one, and a failure is
// ignored.

import type { PresenceUpdate } from '../contract/capabilities.ts'
import { type Adapter, type NormalizedMessage, type PresenceDetails, textOf } from '../contract/index.ts'
import { type JsonObject, settleWithin } from '../lib/index.ts'
import type { TurnPolicy } from '../turns/turn-policy.ts'

/** Presence updates that are under way, so that a process which is about to end can wait for them. */
export type PresenceService = {
  readonly show: (adapter: Adapter, to: JsonObject, what: PresenceUpdate, about?: PresenceDetails) => Promise<void>
  readonly rest: (maxMs: number) => Promise<void>
}

export function createPresenceService(): PresenceService {
  const underWay = new Set<Promise<void>>()
  return {
    async show(adapter, to, what, about) {
      const { presence } = adapter
      if (presence === undefined || !(what === 'typing' || presence.shows.includes(what))) return
      // The next one may work.
      const sign = Promise.resolve(presence.show(to, what, about)).catch(() => {})
      underWay.add(sign)
      await sign
      underWay.delete(sign)
    },
    async rest(maxMs) {
      if (underWay.size === 0) return
      await settleWithin(Promise.all(underWay), maxMs, undefined)
    },
  }
}

// Presence of a turn: a message was taken up, it takes a while, it is over.

/** Platforms show a typing indicator for about five seconds. */
const everyMs = 4_000
/** A title needs no more of what was said. */
const maxTextLength = 500

export type TurnPresence = {
  /** No more typing indicators. */
  readonly stop: () => void
  readonly end: (outcome: NonNullable<PresenceDetails['outcome']>) => void
}

/** What presence needs to know of a turn: where it is, and for whom. */
type ShownTurn = {
  readonly at: { readonly adapter: Adapter }
  readonly lane: { readonly replyTo: JsonObject }
  readonly turn: { readonly kind: string }
  readonly members: readonly { readonly row: { readonly replyTo: JsonObject }; readonly message: ShownMessage }[]
}

type ShownMessage = Pick<NormalizedMessage, 'parts' | 'channel' | 'received_at'>

type PresenceDeps = {
  readonly turnPolicy: Pick<TurnPolicy, 'typingAfterMs'>
  readonly presence: PresenceService
  readonly now: () => number
}

const none: TurnPresence = { stop() {}, end() {} }

/** `isAtWork`: a typing indicator may be shown now. */
export function showTurnPresence(
  { turnPolicy, presence, now }: PresenceDeps,
  { at, lane, turn, members }: ShownTurn,
  isAtWork: () => boolean,
): TurnPresence {
  if (at.adapter.presence === undefined || turn.kind === 'control') return none
  // One after the other: removing a reaction must not overtake adding it.
  let last = Promise.resolve()
  const queuePresenceUpdate = (to: JsonObject, what: PresenceUpdate, about: PresenceDetails): void => {
    last = last.then(() => presence.show(at.adapter, to, what, about))
  }
  if (turn.kind === 'messages')
    for (const { row, message } of members) {
      const text = textOf(message.parts).slice(0, maxTextLength).toWellFormed()
      const messageId = message.channel?.external_message_id ?? undefined
      const waitedMs = Math.max(0, now() - Date.parse(message.received_at))
      queuePresenceUpdate(row.replyTo, 'seen', { text, waitedMs, ...(messageId === undefined ? {} : { messageId }) })
    }
  // Again and again, each not before the one before it has ended.
  let typing: Promise<void> | undefined
  const showTyping = async (): Promise<void> => {
    await last
    await presence.show(at.adapter, lane.replyTo, 'typing')
    typing = undefined
  }
  const showTypingPeriodically = (): void => {
    timer = setTimeout(showTypingPeriodically, everyMs)
    if (isAtWork()) typing ??= showTyping()
  }
  let timer = setTimeout(showTypingPeriodically, turnPolicy.typingAfterMs)
  return {
    stop: () => clearTimeout(timer),
    end(outcome) {
      clearTimeout(timer)
      const underWay = typing
      if (underWay !== undefined) last = last.then(() => underWay)
      if (turn.kind !== 'messages') queuePresenceUpdate(lane.replyTo, 'ended', { outcome })
      else for (const { row } of members) queuePresenceUpdate(row.replyTo, 'ended', { outcome })
    },
  }
}

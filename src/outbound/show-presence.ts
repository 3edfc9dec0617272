// Presence of a turn (typing, reactions, status): a message was taken up, it takes a while, it is over. Outside the outbox: a
// lost one is no loss, and no turn waits for one.
import { type JsonObject, type PresenceDetails, type PresenceUpdate, textOf } from '../contract/index.ts'

import type { Lease } from '../turns/leases.ts'
import type { LiveMessage } from '../turns/live-message.ts'
import type { ReadyTurn } from '../turns/ready-turn.ts'
import type { TurnPolicy } from '../turns/turn-policy.ts'
import type { PresenceService } from './presence.ts'

/** Platforms show a typing indicator for about five seconds. */
const everyMs = 4_000
/** A title needs no more of what was said. */
const maxTextLength = 500

export type TurnPresence = {
  /** No more typing indicators. */
  readonly stop: () => void
  readonly end: (outcome: NonNullable<PresenceDetails['outcome']>) => void
}

const none: TurnPresence = { stop() {}, end() {} }

export function showTurnPresence(
  {
    turnPolicy,
    presence,
    now,
  }: { readonly turnPolicy: TurnPolicy; readonly now: () => number; readonly presence: PresenceService },
  { at, lane, turn, members }: ReadyTurn,
  { lease, live }: { readonly lease: Lease; readonly live: Pick<LiveMessage, 'isShown'> },
): TurnPresence {
  if (at.adapter.presence === undefined || turn.kind === 'control') return none
  // One after the other: removing a reaction must not overtake adding it.
  let last = Promise.resolve()
  const showPresence = (to: JsonObject, what: PresenceUpdate, about?: PresenceDetails): void => {
    last = last.then(() => presence.show(at.adapter, to, what, about))
  }
  const addresses = turn.kind === 'messages' ? members.map(({ row }) => row.replyTo) : [lane.replyTo]
  if (turn.kind === 'messages')
    for (const { row, message } of members) {
      const text = textOf(message.parts).slice(0, maxTextLength).toWellFormed()
      const messageId = message.channel?.external_message_id ?? undefined
      const waitedMs = Math.max(0, now() - Date.parse(message.received_at))
      showPresence(row.replyTo, 'seen', { text, waitedMs, ...(messageId === undefined ? {} : { messageId }) })
    }
  const timer = repeat(turnPolicy.typingAfterMs, async () => {
    if (!live.isShown() && lease.isHeld()) await last.then(() => presence.show(at.adapter, lane.replyTo, 'typing'))
  })
  return {
    stop: timer.stop,
    end(outcome) {
      timer.stop()
      last = last.then(timer.idle)
      for (const to of addresses) showPresence(to, 'ended', { outcome })
    },
  }
}

/** Again and again, each not before the one before it has ended. */
function repeat(firstMs: number, work: () => Promise<void>): { stop: () => void; idle: () => Promise<void> } {
  let underWay: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout>
  const armPresenceTimer = (ms: number): void => {
    timer = setTimeout(() => {
      underWay ??= work().finally(() => {
        underWay = undefined
      })
      armPresenceTimer(everyMs)
    }, ms)
  }
  armPresenceTimer(firstMs)
  return { stop: () => clearTimeout(timer), idle: async () => underWay }
}

// Reactions on the message itself: seen, at work, done. One at a time; where nothing marks the end the last one is taken off.
import type { PresenceDetails } from '../../../../src/contract/index.ts'
import type { SlackReplyTo } from '../../wire/call.ts'
import type { BestEffortCall } from './quiet-call.ts'

export type ReactionNames = {
  readonly waiting?: string | false | undefined
  readonly seen?: string | false | undefined
  readonly busy?: string | false | undefined
  readonly done?: string | false | undefined
}

export type Reactions = {
  readonly show: (to: SlackReplyTo, what: 'waiting' | 'seen' | 'busy') => Promise<void>
  readonly end: (to: SlackReplyTo, outcome: PresenceDetails['outcome']) => Promise<void>
}

const maxReactions = 10_000

export function createReactions(quiet: BestEffortCall, given: ReactionNames): Reactions {
  const names = {
    waiting: given.waiting || undefined,
    seen: given.seen || undefined,
    busy: given.busy || undefined,
    done: given.done || undefined,
  }
  const placed = new Map<string, string>()
  const addReaction = async (to: SlackReplyTo, ts: string, name: string): Promise<void> => {
    if (placed.size >= maxReactions) placed.clear()
    placed.set(reactionKey(to, ts), name)
    await quiet(to.account, 'reactions.add', { channel: to.channel, timestamp: ts, name })
  }
  const removeReaction = async (to: SlackReplyTo, ts: string, name: string): Promise<void> => {
    await quiet(to.account, 'reactions.remove', { channel: to.channel, timestamp: ts, name })
  }
  return {
    async show(to, what) {
      const [name, ts] = [names[what], reactableMessageTs(to)]
      const before = ts === undefined ? undefined : placed.get(reactionKey(to, ts))
      if (name === undefined || ts === undefined || before === name) return
      await addReaction(to, ts, name)
      if (before !== undefined) await removeReaction(to, ts, before)
    },
    async end(to, outcome) {
      const ts = reactableMessageTs(to)
      if (ts === undefined || outcome === 'again') return
      // Another process may have put it there.
      const before = placed.get(reactionKey(to, ts)) ?? names.seen
      placed.delete(reactionKey(to, ts))
      const after = outcome === 'replied' ? names.done : undefined
      if (after !== undefined)
        await quiet(to.account, 'reactions.add', { channel: to.channel, timestamp: ts, name: after })
      if (before !== undefined && before !== after) await removeReaction(to, ts, before)
    },
  }
}

/** In the app's own views Slack has a line for it; a command and a press have no message to mark. */
function reactableMessageTs({ reply_to_ts: ts, reply_to_surface: surface }: SlackReplyTo): string | undefined {
  return surface === undefined ? ts : undefined
}

function reactionKey({ account, channel }: SlackReplyTo, ts: string): string {
  return `${account}:${channel}:${ts}`
}

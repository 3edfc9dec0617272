// The line below a thread that says the app is at work, and the stop button of an agent's own view. Slack takes the line away with
// the next post, or after two minutes, so it is said again in time and taken back at the end (slack 2.11).
import type { SlackReplyTo } from '../../wire/call.ts'
import type { QuietCall } from './quiet-call.ts'

const againMs = 60_000
const maxRemembered = 10_000
const maxTitleLength = 200

export type StatusLine = {
  /** `title`: what the conversation is about, where Slack does not know it yet. */
  readonly work: (to: SlackReplyTo, title: string | undefined) => Promise<void>
  readonly end: (to: SlackReplyTo) => Promise<void>
}

type Shown = { at: number; isSession: boolean }

export function createStatusLine(quiet: QuietCall, words: string | undefined, now: () => number): StatusLine {
  const shown = new Map<string, Shown>()
  const refused = new Set<string>()
  return {
    async work(to, title) {
      const { account, channel, thread_ts: thread } = to
      if (thread === undefined || words === undefined || refused.has(`${account}:${channel}`)) return
      const key = `${account}:${channel}:${thread}`
      const last = shown.get(key)
      if (last !== undefined && now() - last.at < againMs) return
      if (shown.size >= maxRemembered) shown.clear()
      const state = { at: now(), isSession: last?.isSession ?? false }
      shown.set(key, state)
      const place = { channel_id: channel, thread_ts: thread }
      const result = await quiet(account, 'assistant.threads.setStatus', { ...place, status: words })
      // Not in this kind of channel: asking again would cost a call each time.
      if (result === 'refused' && refused.size < maxRemembered) refused.add(`${account}:${channel}`)
      if (to.reply_to_surface !== 'agent' || state.isSession) return
      const about = {
        ...(title === undefined || title === '' ? {} : { title: title.slice(0, maxTitleLength) }),
        ...(to.reply_to_user === undefined ? {} : { initiator_user_id: to.reply_to_user }),
      }
      const session = { ...place, status: 'processing', ...about }
      state.isSession = (await quiet(account, 'agents.sessions.setStatus', session)) === 'done'
    },
    async end({ account, channel, thread_ts: thread }) {
      const key = `${account}:${channel}:${thread}`
      const last = shown.get(key)
      if (thread === undefined || last === undefined) return
      shown.delete(key)
      const place = { channel_id: channel, thread_ts: thread }
      if (!refused.has(`${account}:${channel}`))
        await quiet(account, 'assistant.threads.setStatus', { ...place, status: '' })
      if (last.isSession) await quiet(account, 'agents.sessions.setStatus', { ...place, status: 'active' })
    },
  }
}

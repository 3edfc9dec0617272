// The line below a thread that says the app is at work, and the stop button of an agent's own view. Slack takes the line away with
// the next post, or after two minutes, so it is said again in time and taken back at the end.
import type { SlackReplyTo } from '../../wire/call.ts'
import type { BestEffortCall } from './quiet-call.ts'

const againMs = 60_000
const maxStatusLines = 10_000
const maxSessionTitleLength = 200

export type StatusLine = {
  /** A message was taken up. `title`: what the conversation is about, where Slack does not know it yet. */
  readonly begin: (to: SlackReplyTo, title: string | undefined) => Promise<void>
  readonly work: (to: SlackReplyTo) => Promise<void>
  readonly end: (to: SlackReplyTo) => Promise<void>
}

export function createStatusLine(quiet: BestEffortCall, words: string | undefined, now: () => number): StatusLine {
  const shown = new Map<string, number>()
  const sessions = new Set<string>()
  const refused = new Set<string>()
  return {
    // At once and not with the line: a reply that grows shows no line, and is what people want to stop.
    async begin(to, title) {
      const place = statusThread(to)
      if (place === undefined || words === undefined || to.reply_to_surface !== 'agent') return
      const about = {
        ...(title === undefined || title === '' ? {} : { title: title.slice(0, maxSessionTitleLength) }),
        ...(to.reply_to_user === undefined ? {} : { initiator_user_id: to.reply_to_user }),
      }
      const result = await quiet(to.account, 'agents.sessions.setStatus', { ...place, status: 'processing', ...about })
      if (sessions.size >= maxStatusLines) sessions.clear()
      if (result === 'done') sessions.add(statusKey(to))
    },
    async work(to) {
      const { account, channel } = to
      const place = statusThread(to)
      if (place === undefined || words === undefined || refused.has(`${account}:${channel}`)) return
      if (now() - (shown.get(statusKey(to)) ?? Number.NEGATIVE_INFINITY) < againMs) return
      if (shown.size >= maxStatusLines) shown.clear()
      shown.set(statusKey(to), now())
      const result = await quiet(account, 'assistant.threads.setStatus', { ...place, status: words })
      // Not in this kind of channel: asking again would cost a call each time.
      if (result === 'refused' && refused.size < maxStatusLines) refused.add(`${account}:${channel}`)
    },
    async end(to) {
      const { account, channel } = to
      const place = statusThread(to)
      if (place === undefined) return
      const isShown = shown.delete(statusKey(to)) && !refused.has(`${account}:${channel}`)
      if (isShown) await quiet(account, 'assistant.threads.setStatus', { ...place, status: '' })
      if (sessions.delete(statusKey(to)))
        await quiet(account, 'agents.sessions.setStatus', { ...place, status: 'active' })
    },
  }
}

function statusThread({
  channel,
  thread_ts: thread,
}: SlackReplyTo): { channel_id: string; thread_ts: string } | undefined {
  return thread === undefined ? undefined : { channel_id: channel, thread_ts: thread }
}

function statusKey({ account, channel, thread_ts }: SlackReplyTo): string {
  return `${account}:${channel}:${thread_ts}`
}

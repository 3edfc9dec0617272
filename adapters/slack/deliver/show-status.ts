// The line below a thread that says the app is at work. Outside the books; Slack takes it away with the next post, or after two
// minutes, so it is said again in time (slack 2.11).
import type { JsonObject } from '../../../src/contract/index.ts'
import { replyToSchema } from '../wire.ts'
import { callTimeoutMs } from './call-slack.ts'
import type { SlackPorts } from './ports.ts'

const againMs = 60_000
const maxRemembered = 10_000

export function showStatus({ call, tokenOf }: SlackPorts, now: () => number): (to: JsonObject) => Promise<void> {
  const said = new Map<string, number>()
  const refused = new Set<string>()
  return async (to) => {
    const { account, channel, thread_ts: thread } = replyToSchema.parse(to)
    if (thread === undefined || refused.has(`${account}:${channel}`)) return
    const key = `${account}:${channel}:${thread}`
    if (now() - (said.get(key) ?? Number.NEGATIVE_INFINITY) < againMs) return
    const held = await tokenOf(account)
    if (held.kind !== 'token') return
    if (said.size >= maxRemembered) said.clear()
    said.set(key, now())
    const args = { channel_id: channel, thread_ts: thread, status: 'is working on it…' }
    const answer = await call(held.token, 'assistant.threads.setStatus', args, AbortSignal.timeout(callTimeoutMs))
    // Not in this kind of channel, or not with these scopes: asking again would cost a call each time.
    if (answer.kind === 'error' && refused.size < maxRemembered) refused.add(`${account}:${channel}`)
  }
}

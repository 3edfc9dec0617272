// Who the bot is, asked once where neither the settings nor the event say it: Slack's own events do, stand-ins may not.
import type { CallWebApi } from '../deliver/call-slack.ts'
import type { SlackTokenLookup } from '../deliver/token-of.ts'

const askTimeoutMs = 1500
/** After a failure no event waits again for so long: an event must be answered within three seconds. */
const pauseMs = 60_000

export type BotUserLookup = (account: string) => Promise<string | undefined>

export function createBotUserLookup(
  { call, tokenOf }: { readonly call: CallWebApi; readonly tokenOf: SlackTokenLookup },
  now: () => number,
): BotUserLookup {
  const known = new Map<string, string>()
  const asked = new Map<string, { readonly at: number; readonly answer: Promise<string | undefined> }>()
  const askBotUser = async (account: string): Promise<string | undefined> => {
    const held = await tokenOf(account)
    if (held.kind !== 'token') return undefined
    const answer = await call(held.token, 'auth.test', {}, AbortSignal.timeout(askTimeoutMs))
    const user = answer.kind === 'ok' ? answer.data['user_id'] : undefined
    if (typeof user !== 'string') return undefined
    known.set(account, user)
    return user
  }
  return async (account) => {
    const user = known.get(account)
    if (user !== undefined) return user
    const last = asked.get(account)
    if (last !== undefined && now() - last.at < pauseMs) return last.answer
    const answer = askBotUser(account)
    asked.set(account, { at: now(), answer })
    return answer
  }
}

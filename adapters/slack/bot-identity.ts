// Bot and user names: who the bot is, asked once where neither the settings nor the event say it: Slack's own events do, stand-ins
// may not.

import { isPlainObject, LruMap } from '../../src/lib/index.ts'
import type { CallWebApi, SlackTokenLookup } from './deliver/web-api.ts'

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
  const fetchBotUserId = async (account: string): Promise<string | undefined> => {
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
    const answer = fetchBotUserId(account)
    asked.set(account, { at: now(), answer })
    return answer
  }
}

// The name of a person is looked up where an event names them by id alone: operators who decide about a stranger want to know who
// it is.

const keepMs = 60 * 60_000
const maxKept = 1000

/** Undefined: Slack does not say, as without the scope users:read, which the probe of the connection tells. */
export function createSenderNameLookup(
  { call, tokenOf }: { readonly call: CallWebApi; readonly tokenOf: SlackTokenLookup },
  now: () => number,
) {
  const known = new LruMap<string, { readonly at: number; readonly name: string | undefined }>(maxKept)
  return async (account: string, user: string, signal: AbortSignal): Promise<string | undefined> => {
    const key = `${account}/${user}`
    const kept = known.get(key)
    if (kept !== undefined && now() - kept.at < keepMs) return kept.name
    const held = await tokenOf(account)
    if (held.kind !== 'token') return undefined
    const answer = await call(held.token, 'users.info', { user }, signal)
    if (answer.kind !== 'ok' && answer.kind !== 'error') return undefined
    const name = answer.kind === 'ok' ? userDisplayName(answer.data['user']) : undefined
    known.set(key, { at: now(), name })
    return name
  }
}

function userDisplayName(user: unknown): string | undefined {
  if (!isPlainObject(user)) return undefined
  const profile = isPlainObject(user['profile']) ? user['profile'] : {}
  const names = [profile['display_name'], profile['real_name'], user['real_name'], user['name']]
  return names.find((name): name is string => typeof name === 'string' && name.trim() !== '')
}

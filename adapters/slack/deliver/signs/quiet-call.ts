// A call whose result no code waits for: at most once, within what its method allows, and silent about what came of it.
import { isErrorOfClass } from '../outcome-of.ts'
import type { OutboundDeps } from '../ports.ts'

/** `refused`: Slack said no. `skipped`: it was not asked. */
export type BestEffortResult = 'done' | 'refused' | 'skipped'
export type BestEffortCall = (
  account: string,
  method: BestEffortMethod,
  args: Readonly<Record<string, unknown>>,
) => Promise<BestEffortResult>

/** Calls a minute that Slack grants an app in one workspace; a little less, because others may call too. */
const perMinute = {
  'reactions.add': 45,
  'reactions.remove': 18,
  'assistant.threads.setStatus': 90,
  'assistant.threads.setTitle': 45,
  'assistant.threads.setSuggestedPrompts': 45,
  'agents.sessions.setStatus': 45,
} as const

export type BestEffortMethod = keyof typeof perMinute

/** What a missing scope or a missing method costs: one call an hour. */
const latchMs = 60 * 60_000
const maxBudgets = 10_000

type MethodBudget = { spentUntil: number; notBefore: number }

export function createBestEffortCall(
  { call, tokenOf }: Pick<OutboundDeps, 'call' | 'tokenOf'>,
  now: () => number,
): BestEffortCall {
  const paces = new Map<string, MethodBudget>()
  const methodBudget = (key: string): MethodBudget => {
    const pace = paces.get(key) ?? { spentUntil: 0, notBefore: 0 }
    if (paces.size >= maxBudgets) paces.clear()
    paces.set(key, pace)
    return pace
  }
  return async (account, method, args) => {
    const pace = methodBudget(`${account}/${method}`)
    const at = now()
    if (at < pace.notBefore || pace.spentUntil - at > 60_000) return 'skipped'
    pace.spentUntil = Math.max(pace.spentUntil, at) + 60_000 / perMinute[method]
    const held = await tokenOf(account)
    if (held.kind !== 'token') return 'skipped'
    // A call keeps its own time; nothing else ends this one.
    const answer = await call(held.token, method, args, new AbortController().signal)
    if (answer.kind === 'ok') return 'done'
    if (answer.kind === 'limited') pace.notBefore = now() + answer.afterMs
    if (answer.kind !== 'error') return 'skipped'
    if (isErrorOfClass(answer, 'setup')) pace.notBefore = now() + latchMs
    return 'refused'
  }
}

// Presence on Slack: reactions, the status line, the title of a thread, suggested prompts. None of it is in the ledger.
import type { Adapter, PresenceDetails, TtlStore } from '../../src/contract/index.ts'
import { LruMap } from '../../src/lib/index.ts'
import type { SlackSettings } from './config.ts'
import type { OutboundDeps } from './deliver/web-api.ts'
import { isErrorOfClass } from './deliver/web-api.ts'
import { replyToSchema, type SlackReplyTo } from './wire.ts'

type PresenceDeps = { readonly now: () => number; readonly ttlStore?: TtlStore | undefined }

const maxPrompts = 4
const maxThreadTitleLength = 60
const titleLifeMs = 30 * 24 * 60 * 60_000
/** A person who opens the same conversation again and again is offered the same things once. */
const openedEveryMs = 10 * 60_000
const maxThreads = 10_000

export function createSlackPresence(
  settings: Pick<SlackSettings, 'signs' | 'prompts'>,
  ports: Pick<OutboundDeps, 'call' | 'tokenOf'>,
  deps: PresenceDeps,
): NonNullable<Adapter['presence']>['show'] {
  const quiet = createBestEffortCall(ports, deps.now)
  const { status, ...names } = settings.signs
  const line = createStatusLine(quiet, status === false ? undefined : status, deps.now)
  const reactions = createReactionMarker(quiet, names)
  const giveTitle = createThreadTitleSetter(quiet, deps.ttlStore)
  const offer = createPromptSuggester(quiet, settings.prompts, deps.now)
  return async (given, what, about = {}) => {
    const to = replyToSchema.parse(given)
    switch (what) {
      case 'waiting':
        return reactions.show(to, 'waiting')
      case 'seen':
        await reactions.show(to, 'seen')
        // Only the app's own views have a title and a stop button.
        if (to.reply_to_surface !== undefined) await line.begin(to, await giveTitle(to, about.text ?? ''))
        return
      case 'typing':
        await line.work(to)
        return reactions.show(to, 'busy')
      case 'ended':
        await reactions.end(to, about.outcome)
        return line.end(to)
      case 'opened':
        return offer(to, about.starters ?? [])
      default:
        return what satisfies never
    }
  }
}

/** A thread of the app's own view is called by the first words that were said in it. Answers its title, as far as it has one. */
function createThreadTitleSetter(
  quiet: BestEffortCall,
  notes: TtlStore | undefined,
): (to: SlackReplyTo, text: string) => Promise<string | undefined> {
  const words = new LruMap<string, string>(maxThreads)
  return async (to, text) => {
    const { account, channel, thread_ts: thread, reply_to_surface: surface } = to
    const key = threadKey(to)
    const known = words.get(key)
    const title = threadTitle(text)
    if (thread === undefined || title === '' || known !== undefined) return known
    words.set(key, title)
    // The agent's view is given its title with the status of its session.
    if (surface === 'agent') return title
    const isFirst = await notes?.keep({ family: 'title', key, lifeMs: titleLifeMs, isOnce: true })
    if (isFirst === true)
      await quiet(account, 'assistant.threads.setTitle', { channel_id: channel, thread_ts: thread, title })
    return title
  }
}

function threadTitle(text: string): string {
  const line = text.trim().split('\n')[0]?.replace(/\s+/g, ' ').trim() ?? ''
  return line.length > maxThreadTitleLength
    ? `${line
        .slice(0, maxThreadTitleLength - 1)
        .toWellFormed()
        .trimEnd()}…`
    : line
}

function createPromptSuggester(
  quiet: BestEffortCall,
  own: SlackSettings['prompts'],
  now: () => number,
): (to: SlackReplyTo, starters: NonNullable<PresenceDetails['starters']>) => Promise<void> {
  const offered = new LruMap<string, number>(maxThreads)
  return async ({ account, channel, thread_ts: thread }, starters) => {
    const prompts = (own ?? starters).slice(0, maxPrompts).map(({ title, message }) => ({ title, message }))
    const key = `${account}:${channel}:${thread ?? ''}`
    if (prompts.length === 0 || now() - (offered.get(key) ?? Number.NEGATIVE_INFINITY) < openedEveryMs) return
    offered.set(key, now())
    const place = { channel_id: channel, ...(thread === undefined ? {} : { thread_ts: thread }) }
    await quiet(account, 'assistant.threads.setSuggestedPrompts', { ...place, prompts })
  }
}

// A presence call is made at most once, within what its method allows, and no code waits for its result.

/** `refused`: Slack said no. `skipped`: it was not asked. */
export type BestEffortResult = 'done' | 'refused' | 'skipped'
type BestEffortCall = (
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

function createBestEffortCall(
  { call, tokenOf }: Pick<OutboundDeps, 'call' | 'tokenOf'>,
  now: () => number,
): BestEffortCall {
  const paces = new LruMap<string, MethodBudget>(maxBudgets)
  return async (account, method, args) => {
    const key = `${account}/${method}`
    const pace = paces.get(key) ?? { spentUntil: 0, notBefore: 0 }
    paces.set(key, pace)
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

// Reactions on the message itself: seen, at work, done. One at a time; where nothing marks the end the last one is taken off.

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

function createReactionMarker(quiet: BestEffortCall, given: ReactionNames): Reactions {
  const names = {
    waiting: given.waiting || undefined,
    seen: given.seen || undefined,
    busy: given.busy || undefined,
    done: given.done || undefined,
  }
  const placed = new LruMap<string, string>(maxReactions)
  return {
    async show(to, what) {
      const [name, message] = [names[what], reactableMessage(to)]
      if (name === undefined || message === undefined) return
      const { key, args } = message
      const before = placed.get(key)
      if (before === name) return
      placed.set(key, name)
      await quiet(to.account, 'reactions.add', { ...args, name })
      if (before !== undefined) await quiet(to.account, 'reactions.remove', { ...args, name: before })
    },
    async end(to, outcome) {
      const message = reactableMessage(to)
      if (message === undefined || outcome === 'again') return
      const { key, args } = message
      // Another process may have put it there.
      const before = placed.get(key) ?? names.seen
      placed.delete(key)
      const after = outcome === 'replied' ? names.done : undefined
      if (after !== undefined) await quiet(to.account, 'reactions.add', { ...args, name: after })
      if (before !== undefined && before !== after)
        await quiet(to.account, 'reactions.remove', { ...args, name: before })
    },
  }
}

type ReactableMessage = {
  readonly key: string
  readonly args: { readonly channel: string; readonly timestamp: string }
}

/** In the app's own views Slack has a line for it; a command and a press have no message to mark. */
function reactableMessage(to: SlackReplyTo): ReactableMessage | undefined {
  const { account, channel, reply_to_ts: ts, reply_to_surface: surface } = to
  if (surface !== undefined || ts === undefined) return undefined
  return { key: `${account}:${channel}:${ts}`, args: { channel, timestamp: ts } }
}

// The status line below a thread, and the stop button of an agent's own view. Slack takes the line away with the next post, or
// after two minutes, so it is said again in time and taken back at the end.

const againMs = 60_000
const maxStatusLines = 10_000
const maxSessionTitleLength = 200

export type StatusLine = {
  /** A message was taken up. `title`: what the conversation is about, where Slack does not know it yet. */
  readonly begin: (to: SlackReplyTo, title: string | undefined) => Promise<void>
  readonly work: (to: SlackReplyTo) => Promise<void>
  readonly end: (to: SlackReplyTo) => Promise<void>
}

function createStatusLine(quiet: BestEffortCall, words: string | undefined, now: () => number): StatusLine {
  const shown = new LruMap<string, number>(maxStatusLines)
  const sessions = new LruMap<string, true>(maxStatusLines)
  const refused = new Set<string>()
  return {
    // At once and not with the line: a reply that grows shows no line, and is what people want to stop.
    async begin(to, title) {
      const place = statusThreadFields(to)
      if (place === undefined || words === undefined || to.reply_to_surface !== 'agent') return
      const about = {
        ...(title === undefined || title === '' ? {} : { title: title.slice(0, maxSessionTitleLength) }),
        ...(to.reply_to_user === undefined ? {} : { initiator_user_id: to.reply_to_user }),
      }
      const result = await quiet(to.account, 'agents.sessions.setStatus', { ...place, status: 'processing', ...about })
      if (result === 'done') sessions.set(threadKey(to), true)
    },
    async work(to) {
      const { account, channel } = to
      const place = statusThreadFields(to)
      if (place === undefined || words === undefined || refused.has(`${account}:${channel}`)) return
      if (now() - (shown.get(threadKey(to)) ?? Number.NEGATIVE_INFINITY) < againMs) return
      shown.set(threadKey(to), now())
      const result = await quiet(account, 'assistant.threads.setStatus', { ...place, status: words })
      // Not in this kind of channel: asking again would cost a call each time.
      if (result === 'refused' && refused.size < maxStatusLines) refused.add(`${account}:${channel}`)
    },
    async end(to) {
      const { account, channel } = to
      const key = threadKey(to)
      const isShown = shown.delete(key) && !refused.has(`${account}:${channel}`)
      const place = isShown || sessions.has(key) ? statusThreadFields(to) : undefined
      if (place === undefined) return
      if (isShown) await quiet(account, 'assistant.threads.setStatus', { ...place, status: '' })
      if (sessions.delete(key)) await quiet(account, 'agents.sessions.setStatus', { ...place, status: 'active' })
    },
  }
}

function statusThreadFields({
  channel,
  thread_ts: thread,
}: SlackReplyTo): { channel_id: string; thread_ts: string } | undefined {
  return thread === undefined ? undefined : { channel_id: channel, thread_ts: thread }
}

function threadKey({ account, channel, thread_ts }: SlackReplyTo): string {
  return `${account}:${channel}:${thread_ts}`
}

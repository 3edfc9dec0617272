// Thread ancestors of a turn's message, fetched from the platform before the agent runs. Only here, where every member is
// admitted: a stranger's message never causes a look-up. They are shown like ambient context, and belong to no transcript.
import type { AgentContext } from '../agents/context.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import type { KnownPart, Part } from '../contract/index.ts'
import type { AncestorMessage, ReferencedMessage } from '../contract/optional-verbs.ts'
import type { Json } from '../lib/json-value.ts'
import { ambientMessageEnvelope } from '../sessions/transcript.ts'
import { runUntilAborted } from './leases.ts'
import type { TurnContext } from './turn-context.ts'

export type AncestorsContext = {
  readonly ready: Pick<TurnContext, 'at' | 'lane' | 'members'>
  readonly step: AgentContext['step']
  /** Ends the reading: lease lost, deadline, or the run was stopped. */
  readonly signal: AbortSignal
}

const timeoutMs = 10_000
const maxWords = 3
const maxLength = 4000

/** The oldest first. Nothing where the channel cannot tell, or not in time: the message stands for itself then. */
export async function fetchAncestors(
  context: AncestorsContext,
  transcript: readonly Envelope[],
): Promise<readonly Envelope[]> {
  const { ready, step, signal } = context
  const { adapter } = ready.at
  const lead = ready.members.at(-1)
  if (adapter.fetchAncestors === undefined || lead?.message.in_reply_to === undefined) return []
  const { message, row } = lead
  const knownIds = new Set(transcript.flatMap(({ metadata }) => metadata['message_id'] ?? []).map(String))
  const asked = { message, agent: ready.lane.agent, knownIds }
  const fetchAncestorsOnce = async (): Promise<Json> => {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const found = await runUntilAborted(deadline, () => adapter.fetchAncestors?.(asked, deadline) ?? []).catch(() => [])
    signal.throwIfAborted()
    return found.slice(-maxWords).map(limitAncestorSize) as Json
  }
  // A step without effect: a turn that is taken up again is shown what it was shown before. It holds what was put into it.
  const words = (await step('parley/around', fetchAncestorsOnce, { effect: false, args: row.id })) as unknown
  return (words as readonly AncestorMessage[]).map((each) => ancestorToEnvelope(each, message.received_at))
}

/**
 * Messages that came by their address alone, with their words: asked for once they were let in, as a step, so that a turn that is taken
 * up again hears the same. Where the platform cannot be asked the turn fails and is tried again. Answers why there is nothing to run.
 */
export async function fillInReferencedMessages({ ready, step, signal }: AncestorsContext): Promise<string | undefined> {
  const { adapter } = ready.at
  for (const [at, member] of ready.members.entries()) {
    const { message, row } = member
    if (message.channel?.named_at === undefined || adapter.fetchReferenced === undefined) continue
    const asked = { message, agent: ready.lane.agent }
    const fetchReferencedOnce = async (): Promise<Json> => {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      const found = await runUntilAborted(deadline, () => adapter.fetchReferenced?.(asked, deadline))
      return JSON.parse(JSON.stringify(found ?? { kind: 'refused', reason: 'object_unavailable' }))
    }
    const named = (await step('parley/named', fetchReferencedOnce, {
      effect: false,
      args: row.id,
    })) as unknown as ReferencedMessage
    if (named.kind === 'refused') return named.reason
    ready.members[at] = { ...member, message: { ...message, parts: [...named.parts] } }
  }
  return undefined
}

/** As JSON: what is not there is not named. */
function limitAncestorSize({ id, address, name, parts, at }: AncestorMessage): Json {
  const shown: KnownPart[] = []
  let room = maxLength
  for (const part of parts) {
    if (part.kind === 'text' && room > 0) shown.push({ ...part, content: truncateAncestorText(part.content, room) })
    else if (part.kind === 'link' && room > 0) shown.push(part)
    room -= part.kind === 'text' ? part.content.length : 0
  }
  return JSON.parse(JSON.stringify({ id, address, name, parts: shown, at }))
}

function truncateAncestorText(text: string, room: number): string {
  return text.length <= room ? text : `${text.slice(0, room).toWellFormed()} […]`
}

function ancestorToEnvelope({ id, address, name, parts, at }: AncestorMessage, receivedAt: string): Envelope {
  const shown = name === undefined ? {} : { display_name: name }
  // Shown by a server, and not verified.
  const sender = { address, ...shown, auth_method: 'none', verified: false } as const
  const said: Part[] = [...parts]
  return ambientMessageEnvelope({ id, sender, parts: said, received_at: at ?? receivedAt })
}

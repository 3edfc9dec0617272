// Messages that wait behind a running turn: whether its owner wrote again, and which of them may join it (busy policy `steer`).
import { steeredType } from '../agents/loop/interrupts.ts'
import type { Envelope } from '../contract/index.ts'
import type { WaitingMessage } from '../db/turn-rows.ts'
import { partsText } from '../markdown/index.ts'
import { userEnvelope } from '../sessions/transcript.ts'
import { admissions } from './admit.ts'
import type { GatewayDeps } from './deps.ts'
import { type Absorbed, mayJoin } from './plan-turn.ts'
import { addressRows, type ReadyTurn, toNewMember } from './prepare-turn.ts'
import { getRunId } from './turn-labels.ts'

/**
 * Takes what its owner wrote meanwhile into the turn, and answers it as one line for the model. Committed before the model
 * reads it, with the number of the agent's question for news: a resumed turn reads it at the same question, never earlier.
 */
export async function steer(
  deps: GatewayDeps,
  ready: ReadyTurn,
  question: number,
  fetchFiles: (entries: readonly Absorbed[]) => Promise<readonly Absorbed[]>,
): Promise<Envelope | undefined> {
  const { members } = ready
  // What comes after this question in the journal was done and said without them: they would be answered by nothing.
  const isPast = ready.isRerun === true || ready.joined.size > 0 || ready.steps.isCatchingUp()
  const joining = ready.joined.get(question) ?? (isPast ? [] : await joinWaitingMessages(deps, ready, question))
  ready.joined.delete(question)
  if (joining.length === 0) return undefined
  const at = members.push(...joining) - joining.length
  const fetched = await fetchFiles(joining)
  members.splice(at, joining.length, ...fetched)
  const [first] = fetched
  if (first === undefined) return undefined
  const line = userEnvelope(first.message, { runId: getRunId(ready) })
  const content = fetched.map(({ message }) => partsText(message.parts)).join('\n\n')
  const metadata = { ...line.metadata, type: steeredType, interrupt_action: 'message' }
  return { ...line, type: 'text', content, payload: {}, metadata }
}

async function joinWaitingMessages(
  deps: GatewayDeps,
  ready: ReadyTurn,
  question: number,
): Promise<readonly Absorbed[]> {
  const { lane, turn, members } = ready
  const { waiting, decided } = await ownersMessages(deps, ready)
  const joining = mayJoin(
    members,
    waiting.map((row) => ({ row, message: row.message, edits: [] })),
    deps.turnPolicy.merge,
  )
  if (joining.length === 0) return []
  const rows = joining.map(({ row }, ord) => toNewMember(row, ord, turn.principal, decided))
  return (await deps.turns.join(lane, turn.id, rows, question)) ? joining : []
}

export async function hasOwnersMessage(deps: GatewayDeps, ready: ReadyTurn): Promise<boolean> {
  return (await ownersMessages(deps, ready)).waiting.length > 0
}

/** Up to the first that is not theirs: order is kept, and each is admitted on its own. */
export async function ownersMessages(deps: GatewayDeps, { lane, turn, at }: ReadyTurn) {
  if (turn.principal === null) return { waiting: [], messages: [], decided: new Map() }
  const messages = addressRows(at, lane.agent, await deps.turns.waiting(lane))
  const decided = await admissions(deps, at, { messages, agent: lane.agent, takesPart: true })
  const isOwners = (row: WaitingMessage): boolean => {
    const admission = decided.get(row.id)
    return row.event === 'new' && admission?.kind === 'admitted' && admission.principal === turn.principal
  }
  const end = messages.findIndex((row) => !isOwners(row))
  return { waiting: end === -1 ? messages : messages.slice(0, end), messages, decided }
}

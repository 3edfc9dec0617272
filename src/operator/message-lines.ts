// A message's way in, in words: how it came in, who sent it, how often, and who let it through.
import { decisionLines } from './decision-lines.ts'
import type { EditFacts, Evidence, Facts, LaneFacts, MessageFacts } from './explain-store.ts'
import { memoryLines } from './memory-lines.ts'
import { pairingLines } from './pairing-lines.ts'
import { hasReasonWords, reasonWords, ruleWords } from './reason-words.ts'
import { between } from './span-words.ts'
import { line, type StoryLine } from './story.ts'

export function messageLines(message: MessageFacts, facts: Facts): readonly StoryLine[] {
  const logged = decisionLines(message, facts)
  return [
    received(message),
    ...sender(message),
    ...repeated(message),
    ...pairingLines(message),
    ...logged,
    // What the receipt knows and the log does not: its end without a decision of its own, or one from before there was a log.
    ...decided(message, facts).filter(({ title }) => !logged.some((each) => each.title === title)),
    ...memoryLines(message),
    ...waiting(message),
    ...facts.edits.map((edit) => edited(edit, message)),
  ]
}

/** What people call a message: the platform's name for it where there is one. */
export function nameOf(message: { readonly messageId: string | null; readonly id: string }): string {
  return message.messageId ?? message.id
}

function received(message: MessageFacts): StoryLine {
  const { connection, agent, deliveryId, platformAt, receivedAt } = message
  const delivery = deliveryId === null ? '' : `, delivery ${deliveryId}`
  const late = platformAt === null ? '' : ` Its platform dates it ${between(platformAt, receivedAt)} earlier.`
  const flag = message.isFlagged
    ? ' Another message had come under the same id with other words, so this one is flagged.'
    : ''
  return line(
    receivedAt,
    'Received',
    `${kindOf(message)} on ${connection}${delivery}, for the agent ${agent}.${late}${flag} ${kept(message)}`,
  )
}

function kindOf(message: MessageFacts): string {
  if (message.kind === 'remains') return 'an arrival that became no message'
  if (message.kind === 'operation') return 'what an operator asked of the channel'
  const name = `message ${nameOf(message)}`
  if (message.event === 'edit') return `${name}, an edit of ${message.editOf},`
  if (message.event === 'delete') return `${name}, the deletion of ${message.editOf},`
  return message.kind === 'message' ? name : `${name}, a ${message.kind} that wants an answer of its own,`
}

function hasNoMessage(kind: string): boolean {
  return kind === 'remains' || kind === 'operation'
}

function kept({ hasContent, hasRaw, kind }: MessageFacts): string {
  if (hasNoMessage(kind)) return hasRaw ? 'What came is kept, without secrets.' : 'What came is no longer kept.'
  if (hasContent) return hasRaw ? 'Message and original are kept.' : 'The message is kept, its original is not.'
  return 'What it said is erased; this receipt stays.'
}

function sender({ evidence, subject, kind, traceId }: MessageFacts): readonly StoryLine[] {
  if (hasNoMessage(kind)) return []
  // Only forgetting takes the trace of an arrival away.
  if (traceId === '') return [line(null, 'Sender', 'was forgotten: who it was is gone with what they said.')]
  if (evidence === null) {
    const who = subject === null ? 'was never proven' : `was ${subject}`
    return [line(null, 'Sender', `${who}; the evidence was erased together with the message.`)]
  }
  return [proven(evidence), ...disbelieved(evidence)]
}

function proven(evidence: Evidence): StoryLine {
  const proofs = evidence.identities.map((each) => `${each.subject} (${each.assurance} assurance, ${each.method})`)
  if (!evidence.isVerified || proofs.length === 0) {
    const text = `${evidence.address} is only a claim: nothing was proven (${evidence.authMethod}).`
    return line(null, 'Sender', text, 'bad')
  }
  return line(null, 'Sender', `proven to be ${proofs.join(' and ')}, verified by ${evidence.authMethod}.`)
}

function disbelieved({ dropped }: Evidence): readonly StoryLine[] {
  if (dropped.length === 0) return []
  const reasons = [...new Set(dropped)].map(reasonWords).join('; ')
  return [line(null, 'Evidence', `Came along with it and was not believed: ${reasons}.`, 'bad')]
}

function repeated({ duplicates }: MessageFacts): readonly StoryLine[] {
  if (duplicates === null) return []
  const times = duplicates.count === 1 ? 'once more' : `${duplicates.count} more times`
  const last = duplicates.lastDeliveryId === null ? '' : `, the last time as delivery ${duplicates.lastDeliveryId}`
  const text = `The same message was delivered ${times}${last}. It was recognised and acknowledged, and nothing was done again.`
  return [line(duplicates.lastAt, 'Duplicate', text)]
}

function decided(message: MessageFacts, { turns }: Facts): readonly StoryLine[] {
  const { state, reason, accessRule, principal, endedAt, turnId } = message
  if (state === 'ignored') {
    const why = reasonWords(reason ?? 'ignored')
    if (message.kind === 'operation') return [line(endedAt, 'Done', `It was done: ${why}.`)]
    const text = hasReasonWords(reason ?? '') ? `Not answered: ${why}.` : `Nothing in it asks for an answer: ${why}.`
    return [line(endedAt, 'Ignored', text)]
  }
  // What a person outside was told is why they are refused; a held sender was told a code, and no more.
  const isAtDoor = turns.at(-1)?.kind === 'door' && message.pairing === null
  if (state === 'refused' && (turnId === null || isAtDoor || message.pairing !== null)) {
    const rule = accessRule === null ? '' : ` What decided: ${ruleWords(accessRule)}.`
    const told = isAtDoor ? 'The sender was told so.' : 'No answer was sent.'
    return [line(endedAt, 'Refused', `${reasonWords(reason ?? 'refused')}.${rule} ${told}`, 'bad')]
  }
  if (state === 'dead' && turnId === null) {
    return [
      line(endedAt, 'Unreadable', `It is genuine, but it could not be taken: ${reasonWords(reason ?? 'dead')}.`, 'bad'),
    ]
  }
  if (principal === null || accessRule === null) return []
  const at = turns.find(({ kind }) => kind !== 'door')?.startedAt ?? null
  return [line(at, 'Admitted', `as ${principal}. What decided: ${ruleWords(accessRule)}.`)]
}

function waiting({ lane, attempts, state }: MessageFacts): readonly StoryLine[] {
  if (lane === null || state !== 'queued') return []
  const again = attempts > 0 ? ' It has been tried before.' : ''
  return [line(null, lane.mode === 'active' ? 'Waiting' : 'Held', `${waitingFor(lane)}${again}`, 'wait')]
}

function waitingFor({ mode, ahead, hasOpenTurn, isHeld }: LaneFacts): string {
  const queue = ahead === 0 ? 'It is next in its conversation' : `It stands behind ${ahead} earlier in its conversation`
  if (mode === 'operator') return `${queue}, but a person has taken the conversation over (lane mode operator).`
  if (mode !== 'active') return `${queue}, but the conversation is paused (lane mode ${mode}).`
  if (hasOpenTurn && isHeld) return `${queue}; a turn is running in it now, and what waits is taken when that ends.`
  if (hasOpenTurn) return `${queue}; the turn before it is open and will be resumed.`
  return `${queue} and will be taken as soon as a slot is free.`
}

function edited(edit: EditFacts, message: MessageFacts): StoryLine {
  const verb = edit.event === 'delete' ? 'deleted' : 'edited'
  const title = edit.event === 'delete' ? 'Deleted' : 'Edited'
  const text =
    edit.state === 'refused'
      ? `Another sender tried to have it ${verb} (${nameOf(edit)}); refused: ${reasonWords(edit.reason ?? 'refused')}.`
      : `Its author ${verb} it (${nameOf(edit)}). ${effectOf(edit, message)}`
  return line(edit.receivedAt, title, text)
}

function effectOf(edit: EditFacts, message: MessageFacts): string {
  if (edit.state === 'queued') return 'The change waits to be taken.'
  if (edit.turnId === message.turnId) return 'It was still waiting then, so the agent read the new words only.'
  return edit.event === 'delete'
    ? 'It had been taken already: what it said is gone from the transcript, its place in it stays.'
    : 'It had been taken already: the transcript records the change, and the reply is not made again.'
}

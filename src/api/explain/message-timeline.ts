// Timeline entries of a message up to its turn: how it came in, who sent it, how often, and which decisions let it through or held
// it.
import type {
  DecisionFacts,
  EditFacts,
  Evidence,
  Facts,
  LaneFacts,
  MessageFacts,
  PairingFacts,
} from '../../db/explain.ts'
import { formatPairingCode } from '../../identity/pairing.ts'
import { durationTextBetween } from '../../lib/duration-text.ts'
import { accessRuleText, type ChannelReasons, hasReasonText, reasonText } from './reason-texts.ts'
import { type NextStep, type TimelineEntry, timelineEntry } from './timeline-entry.ts'

export function messageEntries(message: MessageFacts, facts: Facts, own: ChannelReasons): readonly TimelineEntry[] {
  const logged = decisionEntries(message, facts)
  return [
    receivedEntry(message),
    ...senderEntries(message),
    ...duplicateEntries(message),
    ...pairingEntries(message),
    ...logged,
    // What the receipt knows and the log does not: its end without a decision of its own, or one from before there was a log.
    ...outcomeEntries(message, facts, own).filter(({ title }) => !logged.some((each) => each.title === title)),
    ...ambientContextEntries(message),
    ...waitingEntries(message),
    ...facts.edits.map((edit) => editEntry(edit, message)),
  ]
}

/** What people call a message: the platform's name for it where there is one. */
export function messageDisplayId(message: { readonly messageId: string | null; readonly id: string }): string {
  return message.messageId ?? message.id
}

function receivedEntry(message: MessageFacts): TimelineEntry {
  const { connection, agent, deliveryId, platformAt, receivedAt } = message
  const delivery = deliveryId === null ? '' : `, delivery ${deliveryId}`
  const late =
    platformAt === null ? '' : ` Its platform dates it ${durationTextBetween(platformAt, receivedAt)} earlier.`
  const flag = message.isFlagged
    ? ' Another message had come under the same id with other words, so this one is flagged.'
    : ''
  return timelineEntry(
    receivedAt,
    'Received',
    `${messageKindText(message)} on ${connection}${delivery}, for the agent ${agent}.${late}${flag} ${contentRetentionText(message)}`,
  )
}

function messageKindText(message: MessageFacts): string {
  if (message.kind === 'rejected_event') return 'an arrival that became no message'
  if (message.kind === 'operation') return 'what an operator asked of the channel'
  const name = `message ${messageDisplayId(message)}`
  if (message.event === 'edit') return `${name}, an edit of ${message.editOf},`
  if (message.event === 'delete') return `${name}, the deletion of ${message.editOf},`
  return message.kind === 'message' ? name : `${name}, a ${message.kind} that wants an answer of its own,`
}

function isKindWithoutMessage(kind: string): boolean {
  return kind === 'rejected_event' || kind === 'operation'
}

function contentRetentionText({ hasContent, hasRaw, kind }: MessageFacts): string {
  if (isKindWithoutMessage(kind)) return hasRaw ? 'What came is kept, without secrets.' : 'What came is no longer kept.'
  if (hasContent) return hasRaw ? 'Message and original are kept.' : 'The message is kept, its original is not.'
  return 'What it said is erased; this receipt stays.'
}

function senderEntries({ evidence, subject, kind, traceId }: MessageFacts): readonly TimelineEntry[] {
  if (isKindWithoutMessage(kind)) return []
  // Only erasing a person takes the trace of an inbound event away.
  if (traceId === '') return [timelineEntry(null, 'Sender', 'was erased: who it was is gone with what they said.')]
  if (evidence === null) {
    const who = subject === null ? 'was never proven' : `was ${subject}`
    return [timelineEntry(null, 'Sender', `${who}; the evidence was erased together with the message.`)]
  }
  return [evidenceEntry(evidence), ...droppedEvidenceEntries(evidence)]
}

function evidenceEntry(evidence: Evidence): TimelineEntry {
  const proofs = evidence.identities.map((each) => `${each.subject} (${each.assurance} assurance, ${each.method})`)
  if (!evidence.isVerified || proofs.length === 0) {
    const text = `${evidence.address} is only a claim: nothing was proven (${evidence.authMethod}).`
    return timelineEntry(null, 'Sender', text, 'bad')
  }
  return timelineEntry(null, 'Sender', `proven to be ${proofs.join(' and ')}, verified by ${evidence.authMethod}.`)
}

function droppedEvidenceEntries({ dropped }: Evidence): readonly TimelineEntry[] {
  if (dropped.length === 0) return []
  const reasons = [...new Set(dropped)].map((code) => reasonText(code)).join('; ')
  return [timelineEntry(null, 'Evidence', `Came along with it and was not believed: ${reasons}.`, 'bad')]
}

function duplicateEntries({ duplicates }: MessageFacts): readonly TimelineEntry[] {
  if (duplicates === null) return []
  const times = duplicates.count === 1 ? 'once more' : `${duplicates.count} more times`
  const last = duplicates.lastDeliveryId === null ? '' : `, the last time as delivery ${duplicates.lastDeliveryId}`
  const text = `The same message was delivered ${times}${last}. It was recognised and acknowledged, and nothing was done again.`
  return [timelineEntry(duplicates.lastAt, 'Duplicate', text)]
}

function outcomeEntries(message: MessageFacts, { turns }: Facts, own: ChannelReasons): readonly TimelineEntry[] {
  const { state, reason, accessRule, principal, endedAt, turnId } = message
  if (state === 'ignored') {
    const why = reasonText(reason ?? 'ignored', own)
    if (message.kind === 'operation') return [timelineEntry(endedAt, 'Done', `It was done: ${why}.`)]
    const text = hasReasonText(reason ?? '', own)
      ? `Not answered: ${why}.`
      : `Nothing in it asks for an answer: ${why}.`
    return [timelineEntry(endedAt, 'Ignored', text)]
  }
  // What a person outside was told is why they are refused; a held sender was told a code, and no more.
  const isAtDoor = turns.at(-1)?.kind === 'access_challenge' && message.pairing === null
  if (state === 'refused' && (turnId === null || isAtDoor || message.pairing !== null)) {
    const rule = accessRule === null ? '' : ` What decided: ${accessRuleText(accessRule)}.`
    const told = isAtDoor ? 'The sender was told so.' : 'No answer was sent.'
    return [timelineEntry(endedAt, 'Refused', `${reasonText(reason ?? 'refused', own)}.${rule} ${told}`, 'bad')]
  }
  if (state === 'dead' && turnId === null) {
    return [
      timelineEntry(
        endedAt,
        'Unreadable',
        `It is genuine, but it could not be taken: ${reasonText(reason ?? 'dead', own)}.`,
        'bad',
      ),
    ]
  }
  if (principal === null || accessRule === null) return []
  const at = turns.find(({ kind }) => kind !== 'access_challenge')?.startedAt ?? null
  return [timelineEntry(at, 'Admitted', `as ${principal}. What decided: ${accessRuleText(accessRule)}.`)]
}

function waitingEntries({ lane, attempts, state }: MessageFacts): readonly TimelineEntry[] {
  if (lane === null || state !== 'queued') return []
  const again = attempts > 0 ? ' It has been tried before.' : ''
  return [
    timelineEntry(null, lane.mode === 'active' ? 'Waiting' : 'Held', `${queuePositionText(lane)}${again}`, 'wait'),
  ]
}

function queuePositionText({ mode, ahead, hasOpenTurn, isHeld }: LaneFacts): string {
  const queue = ahead === 0 ? 'It is next in its conversation' : `It stands behind ${ahead} earlier in its conversation`
  if (mode === 'operator') return `${queue}, but a person has taken the conversation over (lane mode operator).`
  if (mode !== 'active') return `${queue}, but the conversation is paused (lane mode ${mode}).`
  if (hasOpenTurn && isHeld) return `${queue}; a turn is running in it now, and what waits is taken when that ends.`
  if (hasOpenTurn) return `${queue}; the turn before it is open and will be resumed.`
  return `${queue} and will be taken as soon as a slot is free.`
}

function editEntry(edit: EditFacts, message: MessageFacts): TimelineEntry {
  const verb = edit.event === 'delete' ? 'deleted' : 'edited'
  const title = edit.event === 'delete' ? 'Deleted' : 'Edited'
  const text =
    edit.state === 'refused'
      ? `Another sender tried to have it ${verb} (${messageDisplayId(edit)}); refused: ${reasonText(edit.reason ?? 'refused')}.`
      : `Its author ${verb} it (${messageDisplayId(edit)}). ${editEffectText(edit, message)}`
  return timelineEntry(edit.receivedAt, title, text)
}

function editEffectText(edit: EditFacts, message: MessageFacts): string {
  if (edit.state === 'queued') return 'The change waits to be taken.'
  if (edit.turnId === message.turnId) return 'It was still waiting then, so the agent read the new words only.'
  return edit.event === 'delete'
    ? 'It had been taken already: what it said is gone from the transcript, its place in it stays.'
    : 'It had been taken already: the transcript records the change, and the reply is not made again.'
}

// From the audit log: every decision in its order, with its reason.

function decisionEntries(message: MessageFacts, { decisions, turns }: Facts): readonly TimelineEntry[] {
  // A held sender was told a code, and no more.
  const isTold = turns.at(-1)?.kind === 'access_challenge' && message.pairing === null
  // A pairing tells by itself that its sender had to wait for it.
  const told = decisions.filter(({ outcome }) => message.pairing === null || outcome !== 'held')
  return told.map((each) => {
    if (each.action === 'message.admit') return admissionEntry(each, message, isTold)
    return each.action === 'forget' ? erasureEntry(each) : auditedActEntry(each)
  })
}

/** Its sender deleted their account, which asks for their erasure. */
function erasureEntry({ at, outcome }: DecisionFacts): TimelineEntry {
  const isDone = outcome === 'done'
  return timelineEntry(
    at,
    'Forgotten',
    isDone ? 'what they had said was erased.' : 'what they had said is to be erased.',
  )
}

function admissionEntry(decision: DecisionFacts, { principal, state }: MessageFacts, isTold: boolean): TimelineEntry {
  const { at, outcome, code, person } = decision
  const why = reasonText(code ?? outcome)
  switch (outcome) {
    case 'admitted':
      return timelineEntry(
        at,
        'Admitted',
        `as ${principal ?? person ?? 'an unknown sender'}.${decisionReasonText(decision)}`,
      )
    case 'held':
      // Once it is over, what it waited for is history.
      return state === 'held'
        ? timelineEntry(
            at,
            'Held',
            `${why}.${decisionReasonText(decision)} It is answered once an operator lets them in.`,
            'wait',
          )
        : timelineEntry(at, 'Held', `${why}.${decisionReasonText(decision)}`)
    default: {
      const told = isTold ? 'The sender was told so.' : 'No answer was sent.'
      return timelineEntry(at, 'Refused', `${why}.${decisionReasonText(decision)} ${told}`, 'bad')
    }
  }
}

function auditedActEntry({ at, action, outcome, code, actor, person }: DecisionFacts): TimelineEntry {
  const result = code === null ? outcome : `${outcome} (${code})`
  return timelineEntry(at, 'Decision', `${actor ?? person ?? 'the gateway'}: ${action}, ${result}.`)
}

function decisionReasonText({ rule, evidence }: DecisionFacts): string {
  const decided = rule === null ? '' : ` What decided: ${accessRuleText(rule)}.`
  return evidence === null ? decided : `${decided} On ${evidence.assurance} evidence of ${evidence.issuer}.`
}

// Ambient context: whether a room remembers it, and which turns were given it.

const ambientReasons: ReadonlySet<string | null> = new Set(['not_addressed', 'ambient'])

function ambientContextEntries({ memory, reason, state, event, endedAt }: MessageFacts): readonly TimelineEntry[] {
  if (state !== 'refused' || !ambientReasons.has(reason) || event !== 'new') return []
  const used = memory.turns.map(({ id, at }) =>
    timelineEntry(at, 'Used', `it was given to turn ${id} as talk of the room.`),
  )
  if (memory.until !== null) {
    const text = `the room's talk is remembered for the next time the agent is asked there, this until ${memory.until}.`
    return [timelineEntry(endedAt, 'Remembered', text), ...used]
  }
  return used.length > 0 ? used : [timelineEntry(endedAt, 'Not remembered', 'nothing of what it said is kept.')]
}

// A message that had to wait until its sender was admitted.

function pairingEntries({ pairing, connection, receivedAt }: MessageFacts): readonly TimelineEntry[] {
  if (pairing === null) return []
  const where = pairing.agent === '*' ? connection : `the agent ${pairing.agent} on ${connection}`
  const code = formatPairingCode(pairing.code)
  // A later message of a stranger waits for the pairing that their first one opened.
  const at = pairing.createdAt < receivedAt ? receivedAt : pairing.createdAt
  const held = `Its sender was not known to ${where}; the code to let them in is ${code}, valid until ${pairing.expiresAt}.`
  return [
    timelineEntry(at, 'Held', held, pairing.status === 'pending' ? 'wait' : 'plain'),
    ...pairingDecisionEntries(pairing),
  ]
}

function pairingDecisionEntries({ status, decidedAt, decidedBy, createdAt }: PairingFacts): readonly TimelineEntry[] {
  if (decidedAt === null) return []
  const after = `${durationTextBetween(createdAt, decidedAt)} after the code was given`
  switch (status) {
    case 'approved':
      return [
        timelineEntry(
          decidedAt,
          'Let in',
          `by ${decidedBy}, ${after}. What had been held went back to the queue.`,
          'good',
        ),
      ]
    case 'rejected':
      return [timelineEntry(decidedAt, 'Turned away', `by ${decidedBy}, ${after}.`, 'bad')]
    default:
      return [timelineEntry(decidedAt, 'Expired', `No operator decided about the sender, ${after}.`, 'bad')]
  }
}

export function pairingNextSteps({ pairing }: MessageFacts): readonly NextStep[] {
  if (pairing === null) return []
  const code = formatPairingCode(pairing.code)
  return [
    { text: 'to let the sender in, and have this answered', command: `parley pairings approve ${code}` },
    { text: 'or turn them away', command: `parley pairings reject ${code}` },
  ]
}

const notAdmittedReasons: ReadonlySet<string> = new Set([
  'not_on_allow_list',
  'not_paired',
  'too_many_held',
  'pairings_full',
  'pairing_rejected',
  'pairing_expired',
])

/** What lets the sender of a refused message in the next time. The message itself is over. */
export function admissionNextSteps({ reason, subject, connection }: MessageFacts): readonly NextStep[] {
  if (reason === null || subject === null) return []
  const who = quoteForShell(subject)
  if (reason === 'blocked') return [{ text: 'to take the block back', command: `parley grants unblock ${who}` }]
  if (!notAdmittedReasons.has(reason)) return []
  return [
    {
      text: 'to let the sender in from now on; then ask them to write again',
      command: `parley grants add ${who} --connection ${connection}`,
    },
  ]
}

/** A subject is whatever a platform calls a user: it must not become more than one word of a command. */
function quoteForShell(subject: string): string {
  return /^[\w:/@.+#=-]+$/.test(subject) ? subject : `'${subject.replaceAll("'", `'\\''`)}'`
}

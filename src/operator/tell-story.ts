// From facts to a story a person can read: what became of the message, how it came to that, what can be done. Pure.

import type { Facts, MessageFacts } from '../db/explain.ts'
import { bounceReason } from './came-back.ts'
import { deliveryEntries } from './delivery-lines.ts'
import { messageEntries, messageName } from './message-lines.ts'
import { nextSteps } from './next-steps.ts'
import { hasReasonText, reasonText } from './reason-words.ts'
import { durationBetween } from './span-words.ts'
import { type MessageOutcome, type Timeline, type TimelineEntry, toSentence } from './story.ts'
import { turnEntries } from './turn-lines.ts'

export function buildTimeline(facts: Facts): Timeline {
  const fate = messageOutcome(facts)
  const lines = [
    ...(facts.message === null ? [] : messageEntries(facts.message, facts)),
    ...facts.turns.flatMap((turn) => turnEntries(turn, facts)),
    ...facts.deliveries.flatMap((delivery) => deliveryEntries(delivery, facts)),
  ]
  return { fate, headline: timelineHeadline(fate, facts), lines: sortEntries(lines), next: nextSteps(fate, facts) }
}

function messageOutcome({ message, turns }: Facts): MessageOutcome {
  if (message === null) return 'turn'
  const { state, reason, lane, turnId } = message
  switch (state) {
    case 'queued':
      return lane !== null && lane.mode !== 'active' ? 'held' : 'waiting'
    case 'held':
      return 'pairing'
    case 'in_turn':
      return turns.at(-1)?.state === 'running' ? 'in_turn' : 'replying'
    case 'answered':
    case 'merged':
    case 'refused':
    case 'ignored':
      return state
    default:
      if (reason === 'delivery_unknown') return 'unknown_send'
      if (reason?.startsWith('delivery_') === true) return 'dead_send'
      return turnId === null ? 'unreadable' : 'dead_turn'
  }
}

function timelineHeadline(fate: MessageOutcome, facts: Facts): string {
  const { message } = facts
  if (message === null) return turnHeadline(facts)
  const why = reasonText(message.reason ?? message.state)
  switch (fate) {
    case 'waiting':
      return 'Waiting: it is stored and queued, and no turn has taken it yet.'
    case 'held':
      return `Held: it is stored and queued, but its conversation is ${message.lane?.mode === 'operator' ? 'in the hands of a person' : 'paused'}.`
    case 'pairing':
      return 'Held: its sender is not known here yet. It is kept, and answered once an operator lets them in.'
    case 'in_turn':
      return message.lane?.isHeld === true
        ? 'In a turn: the agent has it now.'
        : `In a turn, between two attempts: the next one is due at ${message.lane?.nextAt}.`
    case 'replying':
      return 'Replied: the answer is made and on its way.'
    case 'answered':
      return answeredHeadline(message, facts)
    case 'merged':
      return mergedHeadline(message, facts)
    case 'refused':
      return `Refused: ${why}.`
    case 'ignored':
      if (message.kind === 'operation') return `Done: an operator asked it of the channel (${message.reason}).`
      return hasReasonText(message.reason ?? '')
        ? `Ignored: ${why}.`
        : `Ignored: nothing in it asks for an answer (${message.reason}).`
    case 'dead_turn':
      return `Dead: the agent could not answer it. ${toSentence(why)}.`
    case 'dead_send':
      return `Dead: ${why}.`
    case 'unknown_send':
      return `Unknown: ${why}.`
    case 'rejected':
      return `Rejected: ${why}.`
    case 'unreadable':
      return `Dead: it is genuine, but could not be taken (${message.reason}).`
    case 'turn':
      return turnHeadline(facts)
  }
}

function answeredHeadline(message: MessageFacts, facts: Facts): string {
  const returned = bounceReason(facts)
  return returned === undefined
    ? `Answered: the reply arrived ${timeTakenText(message)} after the message was received.`
    : `Came back: the reply was taken ${timeTakenText(message)} after the message was received, and sent back later: ${reasonText(returned)}.`
}

function mergedHeadline(message: MessageFacts, facts: Facts): string {
  if (message.event !== 'new') return `Recorded: it changed ${message.editOf}, and is answered by nothing of its own.`
  if (message.reason === 'question_decided')
    return `Merged: ${reasonText(message.reason)}. It is answered by what the decision led to.`
  const members = facts.turns.at(-1)?.members ?? []
  const lead = members.findLast((member) => member.event === 'new')
  const returned = bounceReason(facts)
  const end = returned === undefined ? '' : ` The reply came back later: ${reasonText(returned)}.`
  return `Merged: answered together with ${lead === undefined ? 'its neighbours' : messageName(lead)}, ${timeTakenText(message)} after it was received.${end}`
}

function turnHeadline({ turns, deliveries }: Facts): string {
  const turn = turns.at(-1)
  if (turn === undefined) return `A call that belongs to no turn: ${deliveries[0]?.state ?? 'unknown'}.`
  const cause = turn.signal === null ? 'a turn whose messages have moved on' : `a turn begun by a ${turn.signal}`
  return `${toSentence(cause)}: ${turn.state}.`
}

function timeTakenText({ receivedAt, endedAt }: MessageFacts): string {
  return endedAt === null ? 'some time' : durationBetween(receivedAt, endedAt)
}

/** By time. A line without a time stays behind the one it was told after. */
function sortEntries(lines: readonly TimelineEntry[]): readonly TimelineEntry[] {
  let last = ''
  const keyed = lines.map((each) => {
    last = each.at ?? last
    return { each, key: each.at ?? last }
  })
  return keyed.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ each }) => each)
}
